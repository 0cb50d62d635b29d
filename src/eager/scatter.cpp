// SPDX-License-Identifier: Apache-2.0
// The scatter plot: filled circles are held out, hollow ones were fitted on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "eager/report.h"

namespace kuafu::eager {
namespace {

constexpr double kSize = 640, kMargin = 60;
constexpr const char* kColours[] = {"#1b6ca8", "#c8553d", "#4c956c", "#7b5ea7"};

std::string Text(const char* format, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

struct Axis {
  double low, high;  // decades
  double At(double ms) const {
    return (std::log10(std::max(ms, 1e-6)) - low) / (high - low) * (kSize - 2 * kMargin);
  }
  double X(double ms) const { return kMargin + At(ms); }
  double Y(double ms) const { return kSize - kMargin - At(ms); }
};

std::string Line(const Axis& axis, double factor, const char* style) {
  const double low = std::pow(10, axis.low), high = std::pow(10, axis.high);
  const double from = std::max(low, low / factor), to = std::min(high, high / factor);
  return Text("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' %s/>\n", axis.X(from),
              axis.Y(from * factor), axis.X(to), axis.Y(to * factor), style);
}

}  // namespace

std::string ScatterSvg(std::span<const Judged> all) {
  Axis axis{-2, 2};
  for (const Judged& one : all) {
    for (const double ms : {one.measured_ms, one.estimate.ms}) {
      axis.low = std::min(axis.low, std::floor(std::log10(std::max(ms, 1e-6))));
      axis.high = std::max(axis.high, std::ceil(std::log10(std::max(ms, 1e-6))));
    }
  }
  std::string svg = Text(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' font-family='sans-serif' "
      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
      kSize, kSize);
  for (double decade = axis.low; decade <= axis.high + 0.5; ++decade) {
    const double ms = std::pow(10, decade);
    svg += Text("<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n", axis.X(ms),
                kSize - kMargin + 18, ms);
    svg += Text("<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", kMargin - 6,
                axis.Y(ms) + 4, ms);
  }
  svg += Line(axis, 1, "stroke='#444'");
  for (const double factor : {1.25, 0.8}) svg += Line(axis, factor, "stroke='#bbb'");
  std::map<std::string, const char*> colours;
  for (const Judged& one : all) {
    const std::string series = one.gpu + ", " + one.mode;
    if (!colours.contains(series)) {
      const char* colour = kColours[colours.size() % std::size(kColours)];
      svg += Text("<text x='%.1f' y='%.1f' fill='%s'>%s</text>\n", kMargin + 8,
                  kMargin + 16.0 * static_cast<double>(colours.size()), colour, series.c_str());
      colours[series] = colour;
    }
    const char* colour = colours[series];
    svg += Text("<circle cx='%.1f' cy='%.1f' r='3' stroke='%s' fill='%s' fill-opacity='0.6'/>\n",
                axis.X(one.measured_ms), axis.Y(one.estimate.ms), colour,
                one.fitted_on ? "none" : colour);
  }
  svg += Text("<text x='%.1f' y='%.1f' text-anchor='middle'>published ms</text>\n", kSize / 2,
              kSize - 14);
  svg += Text(
      "<text x='16' y='%.1f' text-anchor='middle' transform='rotate(-90 16 %.1f)'>modelled "
      "ms</text>\n</svg>\n",
      kSize / 2, kSize / 2);
  return svg;
}

}  // namespace kuafu::eager

// SPDX-License-Identifier: Apache-2.0
// An answer is a function from the number of an element to its value, so that those of large tasks,
// of which the first wrong element is enough, need not be made.
#include "verify/audit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "os/memfd.h"
#include "task/compare.h"

namespace kuafu::verify {
namespace {

using frontend::Trial;
using frontend::TrialOutput;
using frontend::TrialSet;
using tensor::HostTensor;

constexpr int64_t kPrefixElements = 32;
constexpr int64_t kPrefixMin = 4 * kPrefixElements;  // shorter rows are not worth cutting

// The value of element i.
using Answer = std::function<double(int64_t)>;
// nullopt = this output has no such answer.
using Maker = std::function<std::optional<Answer>(const Trial&, const TrialOutput&)>;

struct Named {
  std::string name;
  Maker make;
};

std::optional<Answer> Of(const std::optional<HostTensor>& tensor) {
  if (!tensor.has_value()) return std::nullopt;
  return [t = *tensor](int64_t i) { return t.At(i); };
}

std::optional<Answer> Constant(const TrialOutput& output) {
  // Nobody knows the truth of this trial; that of other inputs shows what is typical.
  if (!output.other_inputs.has_value() || output.other_inputs->count() == 0) return std::nullopt;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int64_t i = 0; i < output.other_inputs->count(); ++i) {
    const double value = output.other_inputs->At(i);
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  // The middle is best where the tolerance must cover the extremes.
  const double middle = output.expected.y64.count() > 1
                            ? low + (high - low) / 2
                            : sum / static_cast<double>(output.other_inputs->count());
  if (!std::isfinite(middle)) return std::nullopt;
  const double value = tensor::IsFloat(output.expected.dtype) ? middle : std::round(middle);
  return [value](int64_t) { return value; };
}

std::optional<Answer> RowCopied(const TrialOutput& output, size_t dimension) {
  const HostTensor& y = output.expected.y64;
  if (dimension >= y.shape().size()) return std::nullopt;
  const int64_t size = y.shape()[dimension];
  const int64_t stride = tensor::ContiguousStrides(y.shape())[dimension];
  return [y, size, stride](int64_t i) { return y.At(i - i / stride % size * stride); };
}

std::optional<Answer> Prefix(const TrialOutput& output) {
  const HostTensor& y = output.expected.y64;
  if (y.shape().empty()) return std::nullopt;
  const int64_t size = y.shape().back();
  return [y, size](int64_t i) { return i % size < kPrefixElements ? y.At(i) : 0.0; };
}

class Auditing {
 public:
  explicit Auditing(const TrialSet& set) : set_(set) {
    auto mapping = os::MapFd(set.inputs.get(), set.inputs_bytes, os::Access::kReadOnly);
    if (mapping.ok()) inputs_ = std::make_shared<os::Mapping>(std::move(mapping).value());
  }

  // Those that can be tried, by the first trial.
  std::vector<Named> Answers() const {
    std::vector<Named> named;
    named.push_back({"zeros", [](const Trial&, const TrialOutput&) -> std::optional<Answer> {
                       return [](int64_t) { return 0.0; };
                     }});
    named.push_back(
        {"constant", [](const Trial&, const TrialOutput& output) { return Constant(output); }});
    named.push_back({"answer to other inputs", [](const Trial&, const TrialOutput& output) {
                       return Of(output.other_inputs);
                     }});
    named.push_back({"answer with other parameters", [](const Trial&, const TrialOutput& output) {
                       return Of(output.other_parameters);
                     }});
    const auto inputs = static_cast<size_t>(task::InputCount(set_.task));
    for (size_t i = 0; i < inputs; ++i) {
      named.push_back({"input " + set_.task.arguments[i].name,
                       [this, i](const Trial& trial, const TrialOutput& output) {
                         return Input(trial.arguments[i], output);
                       }});
    }
    const tensor::Shape& shape = set_.trials.front().outputs.front().expected.y64.shape();
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] < 2) continue;
      named.push_back(
          {"row 0 copied along " + std::to_string(d),
           [d](const Trial&, const TrialOutput& output) { return RowCopied(output, d); }});
    }
    if (!shape.empty() && shape.back() >= kPrefixMin) {
      named.push_back({"first " + std::to_string(kPrefixElements) + " elements",
                       [](const Trial&, const TrialOutput& output) { return Prefix(output); }});
    }
    return named;
  }

  // True if `right` accepts it at every trial that has such an answer, and there is one.
  // `caught_by` gets the first that does not.
  template <class Right>
  bool Passes(const Named& named, Right right, std::string* caught_by) const {
    bool tried = false;
    for (const Trial& trial : set_.trials) {
      for (const TrialOutput& output : trial.outputs) {
        if (output.argument >= 0 || output.expected.y64.count() == 0) continue;
        const std::optional<Answer> answer = named.make(trial, output);
        if (!answer.has_value()) {
          if (&trial == &set_.trials.front()) return false;
          continue;
        }
        tried = true;
        if (right(*answer, output)) continue;
        if (caught_by != nullptr) *caught_by = trial.value_class + " at " + trial.shape_label;
        return false;
      }
    }
    return tried;
  }

 private:
  std::optional<Answer> Input(const frontend::ArgumentValue& value,
                              const TrialOutput& output) const {
    if (value.kind != frontend::ArgumentValue::Kind::kTensor || inputs_ == nullptr ||
        value.shape != output.expected.y64.shape()) {
      return std::nullopt;
    }
    const int64_t skip = value.offset * tensor::DTypeBytes(value.dtype);
    auto* data = const_cast<uint8_t*>(std::as_const(*inputs_).bytes().data()) + value.storage_at;
    auto view = HostTensor::View(value.dtype, value.shape, value.strides, inputs_, data + skip,
                                 value.storage_bytes - skip);
    if (!view.ok()) return std::nullopt;
    return [t = std::move(view).value()](int64_t i) { return t.At(i); };
  }

  const TrialSet& set_;
  std::shared_ptr<os::Mapping> inputs_;
};

bool RightForUs(const Answer& answer, const TrialOutput& output) {
  const task::Expected& want = output.expected;
  auto made = HostTensor::Create(want.dtype, want.y64.shape());
  if (!made.ok()) return false;
  HostTensor y = std::move(made).value();
  for (int64_t i = 0; i < y.count(); ++i) y.Set(i, answer(i));
  return task::CompareOutput(y, want).ok;
}

bool AllClose(const Answer& answer, const TrialOutput& output, double tolerance) {
  const HostTensor& y = output.expected.y64;
  for (int64_t i = 0; i < y.count(); ++i) {
    if (!task::Close(answer(i), y.At(i), tolerance)) return false;
  }
  return true;
}

TrivialAnswer& Find(std::vector<TrivialAnswer>& answers, const std::string& name) {
  const auto it = std::find_if(answers.begin(), answers.end(),
                               [&](const TrivialAnswer& a) { return a.name == name; });
  if (it != answers.end()) return *it;
  answers.push_back({.name = name});
  return answers.back();
}

}  // namespace

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kSound: return "sound";
    case Standing::kRepaired: return "repaired";
    case Standing::kDegenerate: return "degenerate";
  }
  return "sound";
}

Audit AuditTask(const TrialSet& ours, const TrialSet* benchmark) {
  Audit audit;
  const Auditing mine(ours);
  for (const Named& named : mine.Answers()) {
    TrivialAnswer& answer = Find(audit.answers, named.name);
    answer.passes_ours = mine.Passes(named, RightForUs, &answer.caught_by);
  }
  if (benchmark != nullptr) {
    const Auditing theirs(*benchmark);
    for (const Named& named : theirs.Answers()) {
      TrivialAnswer& answer = Find(audit.answers, named.name);
      const auto close = [&](double tolerance) {
        return theirs.Passes(
            named,
            [tolerance](const Answer& a, const TrialOutput& output) {
              return AllClose(a, output, tolerance);
            },
            nullptr);
      };
      answer.passes_loose = close(kLooseTolerance);
      answer.passes_strict = answer.passes_loose && close(kStrictTolerance);
    }
  }
  std::erase_if(audit.answers, [](const TrivialAnswer& a) {
    return !a.passes_ours && !a.passes_strict && !a.passes_loose;
  });
  for (const TrivialAnswer& a : audit.answers) {
    audit.standing =
        std::max(audit.standing, a.passes_ours ? Standing::kDegenerate : Standing::kRepaired);
  }
  return audit;
}

Json ToJson(const Audit& audit) {
  Json answers = Json::array();
  for (const TrivialAnswer& a : audit.answers) {
    answers.push_back({{"answer", a.name},
                       {"passes_ours", a.passes_ours},
                       {"passes_1e-4", a.passes_strict},
                       {"passes_1e-2", a.passes_loose},
                       {"caught_by", a.caught_by}});
  }
  return {{"standing", StandingName(audit.standing)}, {"answers", std::move(answers)}};
}

}  // namespace kuafu::verify

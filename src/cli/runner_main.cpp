// SPDX-License-Identifier: Apache-2.0
// kuafu-runner: runs one candidate on a simulated GPU inside the sandbox. A process of its own,
// because a candidate's host code is native code and may do anything to the process it runs in.
//
//   kuafu-runner MODULE SHARED_OBJECT TARGET WARP_WIDTH SEED SANITIZE [ARG ...]
//   kuafu-runner --trials
#include <cstdio>
#include <string_view>

#include "cli/runner.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--trials") return kuafu::runner::TrialsMain();
  if (argc < 7) {
    std::fputs(
        "usage: kuafu-runner MODULE SHARED_OBJECT TARGET WARP_WIDTH SEED SANITIZE [ARG ...]\n"
        "       kuafu-runner --trials\n",
        stderr);
    return 2;
  }
  return kuafu::runner::ProgramMain(argc, argv);
}

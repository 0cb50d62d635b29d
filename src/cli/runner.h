// SPDX-License-Identifier: Apache-2.0
// What the two modes of kuafu-runner share. Private to the program.
#pragma once

namespace kuafu::runner {

// Exit status when the runner itself could not do its work; the candidate is not to blame.
inline constexpr int kInfraExit = 125;

// `kuafu run`: a whole program with a main().
int ProgramMain(int argc, char** argv);
// `verify`: one candidate, many calls of its entry function; requests and answers on descriptor 3.
int TrialsMain();

}  // namespace kuafu::runner

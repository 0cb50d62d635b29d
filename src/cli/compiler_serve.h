// SPDX-License-Identifier: Apache-2.0
// `kuafu-compiler --serve`: compiles one source after another for the verifier, over the channel on
// descriptor 3.
#pragma once

namespace kuafu::cli {

// Until the peer closes. The value is the exit code of the program.
int ServeCompiler();

}  // namespace kuafu::cli

// SPDX-License-Identifier: Apache-2.0
// printf in kernels: formats, the value it returns (the number of arguments, not of characters),
// and that all is written when the host has waited. The program reads its own standard output.
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

__global__ void Print(int* returned) {
  returned[0] = printf("plain\n");
  returned[1] = printf("int %d %5d|%-5d|%05d %+d %u %x %X %o %c\n", -7, 42, 42, 42, 42, 4000000000u,
                       255, 255, 8, 'q');
  returned[2] =
      printf("long %lld %llu %llx\n", -1234567890123ll, 18446744073709551615ull, 0xabcdef0123ull);
  returned[3] = printf("float %f %.2f %10.3e %g %%\n", 1.5f, 2.0 / 3, 12345.678, 0.0001);
  returned[4] = printf("text %s|%8s|%-8s|%.2s\n", "abc", "abc", "abc", "abc");
}
__global__ void PrintMany() {
  if (threadIdx.x % 2) printf("line %d\n", int(blockIdx.x * blockDim.x + threadIdx.x));
}

int main() {
  int ends[2];
  std::fflush(stdout);
  const int saved = dup(1);
  CTS_TRUE(saved >= 0 && pipe(ends) == 0);
  dup2(ends[1], 1);
  cts::Buffer<int> returned(5);
  Print<<<1, 1>>>(returned.get());
  const cudaError_t first = cudaDeviceSynchronize();
  PrintMany<<<2, 16>>>();
  const cudaError_t second = cudaDeviceSynchronize();
  std::fflush(stdout);
  dup2(saved, 1);
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, size_t(n));
  CTS_OK(first);
  CTS_OK(second);
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  CTS_EQ(int(lines.size()), 5 + 16);
  lines.resize(21);
  CTS_EQ(lines[0], std::string("plain"));
  CTS_EQ(lines[1], std::string("int -7    42|42   |00042 +42 4000000000 ff FF 10 q"));
  CTS_EQ(lines[2], std::string("long -1234567890123 18446744073709551615 abcdef0123"));
  CTS_EQ(lines[3], std::string("float 1.500000 0.67  1.235e+04 0.0001 %"));
  CTS_EQ(lines[4], std::string("text abc|     abc|abc     |ab"));
  std::vector<std::string> many(lines.begin() + 5, lines.end()), expected;  // in any order
  for (int i = 1; i < 32; i += 2) expected.push_back("line " + std::to_string(i));
  std::sort(many.begin(), many.end());
  std::sort(expected.begin(), expected.end());
  for (int i = 0; i < 16; ++i) CTS_EQ(many[i], expected[i]);
  const int counts[5] = {0, 10, 3, 4, 4};
  for (int i = 0; i < 5; ++i) CTS_EQ(returned.Read()[i], counts[i]);
  return cts::Finish();
}

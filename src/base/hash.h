// SPDX-License-Identifier: Apache-2.0
// Content hash: XXH3, 128 bits. Names cache entries and blobs; not a defence against an attacker
// who can choose both inputs.
//
//   std::string key = HashHex(source);
//   std::string key2 = Hasher().Add(source).Add(options).Hex();   // parts are length-delimited
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kuafu {

// 32 hexadecimal digits.
std::string HashHex(std::string_view bytes);
uint64_t Hash64(std::string_view bytes);

// A hash over several parts. The length of each part is hashed too, so ("ab", "c") != ("a", "bc").
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher& Add(std::string_view part);
  Hasher& Add(int64_t value);
  std::string Hex() const;

 private:
  void* state_;
};

}  // namespace kuafu

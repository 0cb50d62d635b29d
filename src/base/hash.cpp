// SPDX-License-Identifier: Apache-2.0
// xxHash behind a header that does not show it.
#include "base/hash.h"

#include <xxhash.h>

#include <array>

#include "base/check.h"
#include "base/text.h"

namespace kuafu {
namespace {

std::string Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return ToHex({bytes.digest, sizeof bytes.digest});
}

XXH3_state_t* State(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

std::string HashHex(std::string_view bytes) {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}
uint64_t Hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hasher::Hasher() : state_(XXH3_createState()) {
  KUAFU_CHECK(state_ != nullptr, "out of memory for a hash state");
  XXH3_128bits_reset(State(state_));
}

Hasher::~Hasher() { XXH3_freeState(State(state_)); }

Hasher& Hasher::Add(std::string_view part) {
  Add(static_cast<int64_t>(part.size()));
  XXH3_128bits_update(State(state_), part.data(), part.size());
  return *this;
}

Hasher& Hasher::Add(int64_t value) {
  std::array<uint8_t, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  XXH3_128bits_update(State(state_), bytes.data(), bytes.size());
  return *this;
}

std::string Hasher::Hex() const { return Canonical(XXH3_128bits_digest(State(state_))); }

}  // namespace kuafu

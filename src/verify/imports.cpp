// SPDX-License-Identifier: Apache-2.0
// The dynamic symbol table of a 64-bit little-endian ELF library, by its section headers, which the
// linker writes and nobody else looks at: a file without them is refused. Every offset is checked,
// because the file was made from a candidate.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "os/memfd.h"
#include "verify/legality.h"

namespace kuafu::verify {
namespace {

constexpr size_t kSymbolsMax = 65536;
constexpr size_t kNameMax = 4096;
constexpr uint32_t kTypeDynSym = 11;

Error Bad(const char* what) {
  return Error{Code::kInvalidInput, std::string("reading a built extension: ") + what};
}

// A bounded reader: past the end everything is zero and `ok` is false.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> data) : data_(data) {}
  template <class T>
  T At(uint64_t offset) {
    T value{};
    if (offset > data_.size() || data_.size() - offset < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, data_.data() + offset, sizeof(T));
    return value;
  }
  bool Holds(uint64_t offset, uint64_t bytes) const {
    return offset <= data_.size() && bytes <= data_.size() - offset;
  }
  // The text at `offset` up to its NUL; empty when there is none within the limit.
  std::string_view Text(uint64_t offset, uint64_t end) const {
    end = std::min<uint64_t>(end, data_.size());
    if (offset >= end) return {};
    const auto* begin = reinterpret_cast<const char*>(data_.data()) + offset;
    const size_t room = std::min<uint64_t>(end - offset, kNameMax);
    const size_t length = strnlen(begin, room);
    return length == room ? std::string_view() : std::string_view(begin, length);
  }
  bool ok() const { return ok_; }

 private:
  std::span<const uint8_t> data_;
  bool ok_ = true;
};

struct Section {
  uint32_t type = 0, link = 0;
  uint64_t offset = 0, size = 0, entry = 0;
};

Section ReadSection(Bytes& file, uint64_t at) {
  return {.type = file.At<uint32_t>(at + 4),
          .link = file.At<uint32_t>(at + 40),
          .offset = file.At<uint64_t>(at + 24),
          .size = file.At<uint64_t>(at + 32),
          .entry = file.At<uint64_t>(at + 56)};
}

class Imports {
 public:
  explicit Imports(const Policy& policy) : policy_(policy) {}

  // What is allowed by a whole name or a prefix is allowed unless a longer prefix denies it: our
  // own headers call functions that a candidate's text may not name.
  void Symbol(std::string_view name) {
    if (policy_.symbols.names.contains(name)) return;
    if (const auto it = policy_.cpp.names.find(name); it != policy_.cpp.names.end())
      return Add(it->second, name);
    if (const auto it = policy_.cpp.calls.find(name); it != policy_.cpp.calls.end())
      return Add(it->second, name);
    size_t denied = 0;
    std::string_view code = "forbidden_symbol";
    for (const auto& [prefix, rule] : policy_.symbols.denied_prefixes) {
      if (!StartsWith(name, prefix) || prefix.size() < denied) continue;
      denied = prefix.size();
      code = rule;
    }
    for (const std::string& prefix : policy_.symbols.prefixes) {
      if (StartsWith(name, prefix) && prefix.size() > denied) return;
    }
    Add(code, name);
  }

  std::vector<LegalityFinding> found;

 private:
  void Add(std::string_view code, std::string_view name) {
    const Rule* rule = policy_.Find(code);
    if (rule == nullptr || rule->severity == Rule::Severity::kOff || found.size() >= 64) return;
    found.push_back({.code = std::string(code),
                     .cls = rule->cls,
                     .reject = rule->severity == Rule::Severity::kReject,
                     .message = rule->text + ": " + EscapeForMessage(name, 80)});
  }

  const Policy& policy_;
};

}  // namespace

Result<std::vector<LegalityFinding>> CheckImports(std::span<const uint8_t> elf,
                                                  const Policy& policy) {
  Bytes file(elf);
  const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
  if (elf.size() < 64 || std::memcmp(elf.data(), magic, sizeof(magic)) != 0)
    return Bad("it is no 64-bit ELF file");
  const uint64_t sections_at = file.At<uint64_t>(40);
  const uint16_t section_bytes = file.At<uint16_t>(58);
  const uint16_t count = file.At<uint16_t>(60);
  if (section_bytes < 64 || count == 0 || !file.Holds(sections_at, uint64_t{section_bytes} * count))
    return Bad("its section headers are not in the file");
  const auto section = [&](uint32_t i) {
    return ReadSection(file, sections_at + uint64_t{section_bytes} * i);
  };
  Imports imports(policy);
  bool found_table = false;
  for (uint32_t i = 0; i < count; ++i) {
    const Section table = section(i);
    if (table.type != kTypeDynSym) continue;
    found_table = true;
    if (table.link >= count || table.entry < 24 || !file.Holds(table.offset, table.size))
      return Bad("its table of symbols is damaged");
    const Section names = section(table.link);
    if (!file.Holds(names.offset, names.size)) return Bad("its table of names is damaged");
    const uint64_t symbols = table.size / table.entry;
    if (symbols > kSymbolsMax) return Bad("it has more than 65536 symbols");
    for (uint64_t s = 1; s < symbols; ++s) {
      const uint64_t at = table.offset + s * table.entry;
      if (file.At<uint16_t>(at + 6) != 0) continue;  // defined here
      const uint32_t name_at = file.At<uint32_t>(at);
      const std::string_view name =
          name_at < names.size ? file.Text(names.offset + name_at, names.offset + names.size) : "";
      if (name.empty()) return Bad("a symbol has no name");
      imports.Symbol(name);
    }
  }
  if (!found_table) return Bad("it has no table of dynamic symbols");
  if (!file.ok()) return Bad("it is cut off");
  return std::move(imports.found);
}

Result<std::vector<LegalityFinding>> CheckImportsOfFile(int fd, const Policy& policy) {
  KUAFU_TRY(const int64_t bytes, os::FdSize(fd));
  KUAFU_TRY(const os::Mapping file, os::MapFd(fd, bytes, os::Access::kReadOnly));
  return CheckImports(file.bytes(), policy);
}

}  // namespace kuafu::verify

// SPDX-License-Identifier: Apache-2.0
// The byte form of a device module: magic, version, body, checksum. One function visits every field
// in order and serves both directions, so that the writer and the reader cannot disagree about the
// layout.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "isa/isa.h"

namespace kuafu::isa {
namespace {

constexpr uint32_t kMagic = 0x4d44464b;  // "KFDM"
constexpr size_t kHeaderBytes = 16;      // magic, version, checksum of the body
constexpr size_t kReserveMax = 1024;     // elements

// FNV-1a: catches truncation and bit rot; it is no defence against a forger, validation is.
uint64_t Checksum(std::span<const uint8_t> bytes) {
  uint64_t hash = 1469598103934665603ull;
  for (uint8_t b : bytes) hash = (hash ^ b) * 1099511628211ull;
  return hash;
}

class Writer {
 public:
  template <class T>
  void Scalar(T& value) {
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  size_t Count(size_t size, size_t /*element_bytes_min*/) {
    auto count = static_cast<uint32_t>(size);
    Scalar(count);
    return size;
  }
  bool failed() const { return false; }

  std::vector<uint8_t> bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  void Scalar(T& value) {
    if (failed_ || bytes_.size() - at_ < sizeof(T)) {
      failed_ = true;
      return;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
  }
  // A count that the remaining bytes cannot hold is refused before anything is allocated for it.
  size_t Count(size_t /*size*/, size_t element_bytes_min) {
    uint32_t count = 0;
    Scalar(count);
    if (failed_ || count > (bytes_.size() - at_) / element_bytes_min) {
      failed_ = true;
      return 0;
    }
    return count;
  }
  bool failed() const { return failed_; }
  size_t at() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

template <class A>
void Visit(A& ar, bool& v) {
  uint8_t byte = v ? 1 : 0;
  ar.Scalar(byte);
  v = byte != 0;
}
template <class A, class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
void Visit(A& ar, T& v) {
  ar.Scalar(v);
}
template <class A>
void Visit(A& ar, std::string& v) {
  v.resize(ar.Count(v.size(), 1));
  for (char& c : v) ar.Scalar(c);
}
template <class A, class T>
void Visit(A& ar, std::vector<T>& v) {
  const size_t count = ar.Count(v.size(), 1);
  // Grown as elements arrive: a count may promise many, and an element in memory is far larger than
  // its bytes, so that resizing first would let a small file ask for all memory.
  if (v.size() != count) v.reserve(std::min(count, kReserveMax));
  for (size_t i = 0; i < count && !ar.failed(); ++i) {
    if (i == v.size()) v.emplace_back();
    Visit(ar, v[i]);
  }
}
template <class A, class... T>
void All(A& ar, T&... fields) {
  (Visit(ar, fields), ...);
}

template <class A>
void Visit(A& ar, Line& v) {
  All(ar, v.file, v.line, v.column);
}
template <class A>
void Visit(A& ar, Register& v) {
  All(ar, v.type, v.uniform);
}
template <class A>
void Visit(A& ar, Constant& v) {
  All(ar, v.reg, v.bits);
}
template <class A>
void Visit(A& ar, Local& v) {
  All(ar, v.name, v.offset, v.bytes, v.line);
}
template <class A>
void Visit(A& ar, Param& v) {
  All(ar, v.name, v.type_name, v.offset, v.bytes, v.is_pointer, v.read_only, v.reg, v.prov_reg);
}
template <class A>
void Visit(A& ar, SharedVar& v) {
  All(ar, v.name, v.bytes, v.align, v.line, v.dynamic);
}
template <class A>
void Visit(A& ar, Inst& v) {
  All(ar, v.op, v.type, v.aux, v.dst, v.a, v.b, v.c, v.d, v.line, v.extra, v.imm);
}
template <class A>
void Visit(A& ar, Relocation& v) {
  All(ar, v.offset, v.is_function, v.index, v.addend);
}
template <class A>
void Visit(A& ar, Global& v) {
  All(ar, v.name, v.space, v.bytes, v.align, v.line, v.initialized, v.init, v.relocations);
}
template <class A>
void Visit(A& ar, Function& v) {
  All(ar, v.name, v.pretty, v.is_kernel, v.line, v.max_threads, v.frame_bytes, v.params,
      v.param_regs, v.result_count, v.shared, v.registers, v.constants, v.locals, v.operands,
      v.code);
}
template <class A>
void Visit(A& ar, Module& v) {
  All(ar, v.source_name, v.arch, v.musa, v.files, v.lines, v.shared, v.globals, v.functions);
}

Error Corrupt(std::string what) {
  return Error{Code::kCorrupt,
               "reading a device module: " + std::move(what) + "; compile the source again"};
}

}  // namespace

std::vector<uint8_t> Write(const Module& module) {
  Writer body;
  Visit(body, const_cast<Module&>(module));  // the writing direction reads the fields only
  Writer out;
  uint32_t magic = kMagic, version = kVersion;
  uint64_t checksum = Checksum(body.bytes);
  out.Scalar(magic);
  out.Scalar(version);
  out.Scalar(checksum);
  out.bytes.insert(out.bytes.end(), body.bytes.begin(), body.bytes.end());
  return std::move(out.bytes);
}

Result<Module> Read(std::span<const uint8_t> bytes) {
  if (bytes.size() > kMaxModuleBytes) {
    return Corrupt(std::to_string(bytes.size()) + " bytes, limit " +
                   std::to_string(kMaxModuleBytes));
  }
  if (bytes.size() < kHeaderBytes)
    return Corrupt(std::to_string(bytes.size()) + " bytes are too few");
  Reader header(bytes.first(kHeaderBytes));
  uint32_t magic = 0, version = 0;
  uint64_t checksum = 0;
  header.Scalar(magic);
  header.Scalar(version);
  header.Scalar(checksum);
  if (magic != kMagic) return Corrupt("wrong magic number");
  if (version != kVersion) {
    return Corrupt("version " + std::to_string(version) + ", this program reads " +
                   std::to_string(kVersion));
  }
  const auto body = bytes.subspan(kHeaderBytes);
  if (Checksum(body) != checksum) return Corrupt("checksum mismatch");
  Reader reader(body);
  Module module;
  Visit(reader, module);
  if (reader.failed()) return Corrupt("truncated at byte " + std::to_string(reader.at()));
  if (!reader.at_end()) return Corrupt("data after the end at byte " + std::to_string(reader.at()));
  KUAFU_TRY_STATUS(Validate(module));
  return module;
}

}  // namespace kuafu::isa

// SPDX-License-Identifier: Apache-2.0
// How a launch runs. A *split* is a set of lanes of one block at one pc of one frame; a block
// starts as one split of all lanes, so that while its threads agree an instruction is a single loop
// over all of them. Divergent branches make more splits; the lowest pc of the deepest frame runs
// first and splits that meet merge. Blocks are resumable contexts: one that runs long gives way to
// other resident ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "simt/count.h"
#include "simt/exec.h"
#include "simt/pattern.h"
#include "simt/sample.h"
#include "simt/shadow.h"
#include "simt/shared_shadow.h"
#include "simt/simt.h"

namespace kuafu::simt {

// An instruction with everything resolved that does not depend on the launch.
struct DInst {
  mutable LaneFn fns[8] = {};  // by which operands are scalar; chosen when first needed
  OverflowFn overflow = nullptr;
  isa::Inst inst;
  int64_t imm = 0;                 // what a lane function gets
  uint32_t a = 0, b = 0, c = 0;    // registers; absent operands read the zero slot
  uint8_t as = 0, bs = 0, cs = 0;  // bytes per lane
  uint8_t ds = 0;                  // of dst
  bool lanes = false;              // a lane operation
  bool dst_uniform = false;
  bool index64 = false;  // memory operations: type of b
  InstClass cls = InstClass::kNone;
};

struct DFunction {
  const isa::Function* source = nullptr;
  std::vector<DInst> code;
  // Kernels. What the kernel or anything it calls may do:
  std::vector<uint32_t> reachable;    // functions, itself first
  int shared_granule_log2 = 2;        // unit of its shared-memory accesses
  std::vector<uint8_t> param_loaded;  // pointer parameters used for nothing but loads
  uint64_t stack_need = 0;            // bytes of local memory per lane
};

struct DModule {
  isa::Module module;
  std::vector<DFunction> functions;
  std::vector<uint64_t> global_address;
};

struct Layout {
  std::vector<uint32_t> offset;  // of each register in a frame's memory
  uint64_t bytes = 0;
};

struct Frame {
  const DFunction* fn = nullptr;
  uint32_t index = 0;  // of the function
  Frame* parent = nullptr;
  uint32_t call_pc = 0;
  int depth = 0, live = 0;
  uint32_t stack_offset = 0;   // of its locals in each lane's stack
  std::vector<uint8_t*> regs;  // the last entry is the zero slot
  // Whether regs[i] holds one value for all lanes: those of uniform registers always, others as
  // long as everything written to them is the same for all lanes of the frame.
  std::vector<uint8_t> scalar;
  uint8_t* memory = nullptr;
  std::vector<uint64_t> ready;  // counting only: the clock at which each register has its value
  ~Frame();
};

struct Split {
  Frame* frame = nullptr;
  uint32_t pc = 0;
  int lo = 0, hi = 0, count = 0;
  uint32_t round = 0, back_edges = 0;
  int group = 0;
  std::vector<uint8_t> mask;  // one byte per lane, 0 or 1
  bool dense() const { return count == hi - lo; }
};

struct Mask128 {
  uint64_t lo = 0, hi = 0;
  bool Has(int i) const { return ((i < 64 ? lo >> i : hi >> (i - 64)) & 1) != 0; }
  void Set(int i) { (i < 64 ? lo : hi) |= 1ull << (i & 63); }
  Mask128 operator&(Mask128 o) const { return {lo & o.lo, hi & o.hi}; }
  Mask128 operator|(Mask128 o) const { return {lo | o.lo, hi | o.hi}; }
  Mask128 operator~() const { return {~lo, ~hi}; }
  bool operator==(const Mask128&) const = default;
  bool Empty() const { return (lo | hi) == 0; }
};

struct SharedSlot {
  static constexpr uint32_t kAbsent = UINT32_MAX;  // a variable of other kernels
  uint32_t offset = kAbsent, bytes = 0;
};

class BlockRun;

// What all blocks of a launch have in common.
struct LaunchState {
  const LaunchOptions* options = nullptr;
  Memory* memory = nullptr;
  const DModule* module = nullptr;
  uint32_t kernel = 0;
  uint32_t grid[3] = {}, block[3] = {};
  int n = 0, width = 32, warps = 0;
  uint64_t grid_id = 0;
  std::vector<int32_t> special[5];  // tid x y z, lane id, warp id
  std::vector<uint8_t> params;      // with slack behind
  size_t params_bytes = 0;
  std::vector<uint32_t> param_provenance;
  std::vector<SharedSlot> shared;  // by index in Module::shared
  uint32_t shared_bytes = 0, dynamic_shared = 0;
  std::vector<Layout> layouts;  // by function
  uint32_t stack_bytes = 0;     // per lane
  LaunchResult result;
  bool stop = false;
  uint64_t last_effect = 0;  // dispatch count when memory or control last changed
  uint64_t polls = 0;        // volatile and atomic reads since
  uint32_t poll_line = 0;
  uint64_t heap_used = 0;
  GlobalShadow* shadow = nullptr;    // sanitizing only; the program's
  LaunchCounter* counter = nullptr;  // counting only
  Sampler* sampler = nullptr;        // with LaunchOptions::sampling only
  std::unordered_set<uint64_t> reported;
  uint64_t repeats = 0;  // findings that were reported before

  // False: it is known. Past a bound of either kind the launch is to stop.
  bool Report(Finding finding, uint32_t line, uint32_t other_line);
  void RecordRead(const Allocation& allocation, uint32_t id, uint64_t address, uint64_t size) {
    std::vector<bool>& bytes = result.read[id];
    bytes.resize(allocation.bytes);
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(address - allocation.base);
    std::fill(first, first + static_cast<std::ptrdiff_t>(size), true);
  }
};

// decode.cpp
LaneFn SelectLane(const isa::Inst& inst, unsigned scalar);
DInst Decode(const isa::Function& fn, const isa::Inst& inst);
void Analyse(DModule& module);

enum class RunStatus : uint8_t { kDone, kBudget, kGridWait };

// Where an access may go.
struct Target {
  enum class Kind : uint8_t { kNone, kGlobal, kShared, kLocal, kParam } kind = Kind::kNone;
  uint64_t base = 0, end = 0;  // kLocal: of lane 0
  uint64_t lane_stride = 0;
  Allocation* allocation = nullptr;
  uint32_t id = 0;
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

class BlockRun {
 public:
  explicit BlockRun(LaunchState& launch);
  ~BlockRun();
  void Start(uint64_t linear);
  RunStatus Run(uint64_t budget);
  void ReleaseGrid();  // after kGridWait
  uint64_t linear() const { return linear_; }
  bool given_up() const { return given_up_; }
  WriteLog& log() { return log_; }
  BlockSync& sync() { return sync_; }
  uint32_t SpinLine() const;
  uint32_t GridLine() const;

 private:
  // block.cpp: state and scheduling
  Split* NewSplit(Frame* frame, uint32_t pc);
  void FreeSplit(Split* split);
  void AddReady(Split* split);
  Split* Pick();
  uint32_t StopPc(const Split& split) const;
  void Tighten(Split& split);
  Frame* NewFrame(uint32_t function, Frame* parent, uint32_t call_pc);
  void FreeFrame(Frame* frame);
  void ClearLocals(size_t lane, uint32_t stack_offset, uint32_t bytes);
  uint64_t ReadReg(const Frame& f, uint32_t reg, int lane) const;
  void WriteReg(Frame& f, uint32_t reg, int lane, uint64_t value);
  uint8_t* VectorDst(Frame& f, uint32_t reg, const Split& s, int size);
  void WriteScalar(Frame& f, uint32_t reg, const Split& s, const void* value, int size);
  void WriteVector(Frame& f, uint32_t reg, const Split& s, const void* values, int size);
  void WriteUniformOr(const DInst& d, Split& s, const void* value);
  int FirstLane(const Split& s) const;
  uint64_t Random();

  // engine.cpp: dispatch
  template <bool kCount>
  void RunSplit(Split* split, uint64_t limit);
  void ExecLane(const DInst& d, Split& s);
  void ExecSpecial(const DInst& d, Split& s);

  // count.cpp, counting only
  void CountDispatch(const DInst& d, const Split& s, uint32_t pc);
  void CountDivergence(const Split& s, uint32_t pc, const uint8_t* predicate);
  uint32_t CountMemory(const DInst& d, const Split& s, uint32_t pc, Count* count);
  uint32_t CountShared(const RequestCost& cost, Count* count);
  uint32_t CountLanes(const Split& s, uint32_t provenance_reg, uint32_t size, bool store,
                      bool atomic, Count* count);
  uint32_t CountCopy(const DInst& d, const Split& s, Count* count);

  // call.cpp
  bool DoCall(const DInst& d, Split*& s, uint32_t target, uint32_t pc);
  bool DoRet(const DInst& d, Split* s);
  void Exit(Split* s, uint32_t line);
  void Kill();

  // sync.cpp: barriers and warp operations
  bool ArriveBarrier(const DInst& d, Split* s);
  void CheckBarriers();
  void CompleteBarrier(size_t index);
  bool ArriveWarp(const DInst& d, Split*& s);
  void CheckWarps();
  Mask128 Members(const DInst& d, const Frame& f, int thread, bool* all) const;
  Mask128 Alive(int warp) const;
  Mask128 ActiveIn(const Split& s, int warp) const;
  void ExecWarp(int warp, Split* const* owner, Mask128 members, bool all, Mask128 present);
  void ReportStuck();
  const DInst& At(const Split& s) const { return s.frame->fn->code[s.pc]; }

  // access.cpp: addresses and what they may reach
  bool ComputeAddresses(const DInst& d, const Split& s);
  Target Resolve(uint32_t provenance, const Frame& f) const;
  bool AllSame(const DInst& d, const Split& s, uint32_t* value) const;
  bool CheckLane(uint32_t provenance, const Frame& f, int lane, uint64_t address, uint64_t size,
                 uint64_t align, Access access, uint32_t line, Target* target);
  bool PrepareAccess(const DInst& d, Split& s, uint32_t size, Access access, Target* target);
  bool FindPattern(const DInst& d, const Split& s, uint32_t size, Access access, Target* target);

  // load_store.cpp
  void Load(const DInst& d, Split& s);
  void LoadLanes(const DInst& d, Split& s, uint32_t size);
  void Store(const DInst& d, Split& s);
  void StoreLanes(const DInst& d, Split& s, uint32_t size);

  // load_store.cpp, of launches that may be sampled
  bool ReadsUnknown(const Target& t, uint64_t address, uint64_t size);
  void LogPattern(const Target& t, int n, uint32_t size);
  void LogWrite(const Target& t, uint64_t address, uint64_t size) {
    if (t.kind == Target::Kind::kGlobal)
      log_.Plain(t.id, address - t.base, static_cast<uint32_t>(size));
  }

  // note.cpp: shadow work
  void Note(const Target& t, int lane, uint64_t address, uint32_t size, Access access, bool atomic,
            bool copy, uint32_t line);
  bool Unwatched(const Target& t) const;
  void NoteShared(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                  uint32_t line);
  void NoteGlobal(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                  uint32_t line);
  void NoteLocal(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                 uint32_t line);
  void NoteLanes(const Target& t, const Split& s, const uint8_t* ok, uint32_t size, Access access,
                 bool copy, uint32_t line);

  // copy.cpp, atomics.cpp
  void Atomic(const DInst& d, Split& s);
  void CopyOrSet(const DInst& d, Split& s);
  void ProvenanceOf(const DInst& d, Split& s);
  uint32_t ProvenanceOfAddress(uint64_t address) const;
  void Fence(const DInst& d, const Split& s);
  void ReportRace(const Conflict& conflict, const Target& t, int lane, uint64_t address,
                  Access access, uint32_t line);
  void DeviceHeap(const DInst& d, Split& s);
  void Printf(const DInst& d, Split& s);
  void AssertFailed(const DInst& d, Split& s);
  std::string ReadString(uint64_t address, size_t limit) const;
  bool Report(Finding::Kind kind, std::string message, uint32_t line, uint32_t other_line, int lane,
              uint64_t address = 0, const std::string& allocation = {}, int other_lane = -1,
              int64_t other_block = -1);

  LaunchState& launch_;
  const int n_;
  uint64_t linear_ = 0;
  uint32_t ctaid_[3] = {};
  int alive_ = 0;
  bool killed_ = false;
  bool given_up_ = false;  // it has read what is not known
  WriteLog log_;           // with LaunchState::sampler only
  std::vector<uint8_t> exited_;
  std::vector<uint32_t> exit_line_;
  std::vector<Split*> ready_, warp_wait_, grid_wait_;
  struct BarrierWait {
    uint32_t id = 0;
    std::vector<Split*> waiting;
  };
  std::vector<BarrierWait> barrier_wait_;
  Split* current_ = nullptr;
  std::vector<std::unique_ptr<Split>> splits_;
  std::vector<Split*> free_splits_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<std::vector<Frame*>> free_frames_;  // by function
  uint64_t dispatches_ = 0;
  uint64_t rng_ = 1;
  uint32_t last_line_ = 0;

  uint8_t* shared_ = nullptr;
  uint8_t* stacks_ = nullptr;
  uint8_t* stack_valid_ = nullptr;  // one byte for each of stacks_, sanitizing only
  size_t stacks_bytes_ = 0;
  std::vector<uint64_t> address_;
  std::vector<uint8_t> ok_, scratch_;
  Pattern pattern_;
  BlockSync sync_;
  SharedShadow shared_shadow_;
  std::unique_ptr<BlockCounter> counter_;  // counting only
};

}  // namespace kuafu::simt

// SPDX-License-Identifier: Apache-2.0
// Goal: a test that passes under a sanitizer means something, because the same flags, libraries and
// environment report a defect that is there. Method: each argument commits one; CTest looks for the
// sanitizer's words, so a sanitizer that is off, or told to keep quiet, fails the test.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <limits>
#include <mutex>
#include <string_view>
#include <vector>

#include "os/thread_pool.h"

namespace {

// Two tasks of our own pool; the latch makes sure that two threads run them.
int Race() {
  int count = 0;
  std::latch both(2);
  kuafu::os::ThreadPool pool({.threads = 2, .queue_max = 2});
  for (int i = 0; i < 2; ++i) {
    pool.Submit([&] {
      both.arrive_and_wait();
      ++count;
    });
  }
  pool.WaitIdle();
  return count;
}

// As batch does it, with the lock left out for one of two results.
int RaceOnALockHeldByOne() {
  int count = 0;
  std::mutex mutex;
  std::latch both(2);
  kuafu::os::ThreadPool pool({.threads = 2, .queue_max = 2});
  pool.Submit([&] {
    both.arrive_and_wait();
    std::lock_guard lock(mutex);
    ++count;
  });
  pool.Submit([&] {
    both.arrive_and_wait();
    ++count;
  });
  pool.WaitIdle();
  return count;
}

int Overflow(size_t size) {
  std::vector<int> values(size, 1);
  const int* begin = values.data();
  return begin[size];
}

int UseAfterFree() {
  int* value = new int(1);
  int* volatile kept = value;
  delete value;
  return *kept;
}

int Leak() {
  char* text = static_cast<char*>(std::malloc(1000));
  std::memset(text, 1, 1000);
  const int first = text[0];
  std::memset(&text, 0, sizeof text);
  return first;
}

int SignedOverflow(int argc) { return std::numeric_limits<int>::max() - 1 + argc; }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view defect = argc == 2 ? argv[1] : "";
  int value = 0;
  if (defect == "race") value = Race();
  if (defect == "half_locked") value = RaceOnALockHeldByOne();
  if (defect == "overflow") value = Overflow(static_cast<size_t>(argc));
  if (defect == "use_after_free") value = UseAfterFree();
  if (defect == "leak") value = Leak();
  if (defect == "undefined") value = SignedOverflow(argc);
  std::printf("%s: the program went on to its end, value %d\n", argv[0], value);
  return 0;
}

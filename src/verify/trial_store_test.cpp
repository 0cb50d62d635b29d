// SPDX-License-Identifier: Apache-2.0
// Goal: however many threads ask, a reference is run once for each seed, and what it gave or why it
// was refused is the same for all of them. Method: a small module and real PyTorch; under the
// thread sanitizer this is also where the store and its helper are watched.
#include "verify/trial_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "os/file.h"
#include "os/thread_pool.h"

namespace kuafu::verify {
namespace {

constexpr int kThreads = 4;
constexpr uint64_t kSeeds = 3;

using Answer = Result<std::shared_ptr<const frontend::TrialSet>>;

// Answer number i is for seed i % kSeeds + 1; a thread writes its own elements only.
std::vector<Answer> AskFromThreads(TrialStore& store, const std::string& path) {
  std::vector<Answer> answers(2 * kThreads * kSeeds, Error{Code::kInternal, "not asked"});
  os::ThreadPool pool({.threads = kThreads, .queue_max = 64});
  for (size_t i = 0; i < answers.size(); ++i) {
    pool.Submit([&store, &path, &answers, i] {
      answers[i] =
          store.Get({.reference_path = path, .seed = i % kSeeds + 1, .nominal_only = true});
    });
  }
  pool.WaitIdle();
  return answers;
}

TEST(TrialStore, ThreadsThatAskTogetherShareOneSet) {
  os::TempDir dir = os::TempDir::Create("test").value();
  const std::string path = dir.File("reference.py");
  ASSERT_TRUE(os::WriteFileAtomic(path,
                                  "import torch\n"
                                  "class Model(torch.nn.Module):\n"
                                  "    def forward(self, x):\n"
                                  "        return x + 1\n"
                                  "def get_inputs():\n"
                                  "    return [torch.rand(4, 8)]\n"
                                  "def get_init_inputs():\n"
                                  "    return []\n")
                  .ok());
  auto store = TrialStore::Start("");
  ASSERT_TRUE(store.ok()) << store.error().ToString();
  const std::vector<Answer> answers = AskFromThreads(*store.value(), path);
  for (size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].error().ToString();
    EXPECT_EQ(answers[i].value(), answers[i % kSeeds].value()) << i;
  }
  EXPECT_NE(answers[0].value(), answers[1].value());
}

TEST(TrialStore, ASetThatIsThereDoesNotWaitForOneThatIsBeingMade) {
  os::TempDir dir = os::TempDir::Create("test").value();
  const auto write = [&](const char* name, const std::string& at_import) {
    EXPECT_TRUE(os::WriteFileAtomic(dir.File(name), at_import + "import torch\n"
                                                                "class Model(torch.nn.Module):\n"
                                                                "    def forward(self, x):\n"
                                                                "        return x + 1\n"
                                                                "def get_inputs():\n"
                                                                "    return [torch.rand(4, 8)]\n"
                                                                "def get_init_inputs():\n"
                                                                "    return []\n")
                    .ok());
    return dir.File(name);
  };
  const std::string quick = write("quick.py", "");
  const std::string slow = write("slow.py", "import time\ntime.sleep(0.5)\n");
  auto store = TrialStore::Start("");
  ASSERT_TRUE(store.ok()) << store.error().ToString();
  const auto get = [&](const std::string& path) {
    return store.value()->Get({.reference_path = path, .seed = 1, .nominal_only = true});
  };
  ASSERT_TRUE(get(quick).ok());
  std::atomic<bool> made = false;
  std::thread maker([&] {
    EXPECT_TRUE(get(slow).ok());
    made = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(get(quick).ok());
  EXPECT_FALSE(made);
  maker.join();
}

TEST(TrialStore, ARefusalIsTheSameForAll) {
  os::TempDir dir = os::TempDir::Create("test").value();
  const std::string path = dir.File("reference.py");
  ASSERT_TRUE(os::WriteFileAtomic(path, "Model = 3\n").ok());
  auto store = TrialStore::Start("");
  ASSERT_TRUE(store.ok()) << store.error().ToString();
  for (const Answer& answer : AskFromThreads(*store.value(), path)) {
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, Code::kInvalidInput) << answer.error().ToString();
  }
}

}  // namespace
}  // namespace kuafu::verify

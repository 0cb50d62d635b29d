// SPDX-License-Identifier: Apache-2.0
// One pass over the tokens. Names that mean something only in their own file (a helper called
// `read`, a method `softmax`) are told from the library's by their definition there; what that lets
// through, the check of imports and the sandbox catch.
#include "verify/legality.h"

#include <algorithm>
#include <cctype>

#include "base/cpp_tokens.h"
#include "base/text.h"

namespace kuafu::verify {
namespace {

using Kind = CppToken::Kind;

constexpr size_t kFindingsMax = 64;
constexpr size_t kArgumentsMax = 8;  // of a macro whose arguments are pasted
constexpr size_t kPastedMax = 4096;  // combinations tried in one file

bool HasPrefix(const std::vector<std::string>& prefixes, std::string_view text) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& p) { return StartsWith(text, p); });
}

class Check {
 public:
  Check(std::string_view source, const Policy& policy)
      : policy_(policy), owner_(source), tokens_(owner_.all()) {}

  std::vector<LegalityFinding> Run() {
    FindDefinitions();
    for (i_ = 0; i_ < tokens_.size(); ++i_) {
      const CppToken& t = tokens_[i_];
      TrackScope(t);
      if (t.text == "include" && StartsDirective()) {
        Include();
      } else if (t.text == "define" && StartsDirective()) {
        Define();
      } else if (t.kind == Kind::kWord) {
        Word(t);
      }
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(found_);
  }

 private:
  std::string_view Before(size_t n) const { return i_ >= n ? tokens_[i_ - n].text : ""; }
  std::string_view After(size_t n) const {
    return i_ + n < tokens_.size() ? tokens_[i_ + n].text : "";
  }

  // The word that says what a directive is; its # may be written %:.
  bool StartsDirective() const {
    return tokens_[i_].directive != 0 && (Before(1) == "#" || Before(1) == "%:") &&
           (i_ < 2 || tokens_[i_ - 2].directive != tokens_[i_].directive);
  }

  void Add(std::string_view code, int line, std::string_view what) {
    const Rule* rule = policy_.Find(code);
    if (rule == nullptr || rule->severity == Rule::Severity::kOff) return;
    if (found_.size() >= kFindingsMax) return;
    for (const LegalityFinding& f : found_) {
      if (f.code == code && f.line == line) return;
    }
    found_.push_back({.code = std::string(code),
                      .cls = rule->cls,
                      .reject = rule->severity == Rule::Severity::kReject,
                      .line = line,
                      .message = rule->text + ": " + EscapeForMessage(what, 80)});
  }

  // Functions and methods that this file defines: a name, its parameters, a body.
  void FindDefinitions() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].kind != Kind::kWord || tokens_[i + 1].text != "(") continue;
      if (i == 0 || (tokens_[i - 1].kind != Kind::kWord && tokens_[i - 1].text != "*" &&
                     tokens_[i - 1].text != "&" && tokens_[i - 1].text != ">"))
        continue;
      if (tokens_[i - 1].text == "return" || tokens_[i - 1].text == "else") continue;
      size_t depth = 0, k = i + 1;
      for (; k < tokens_.size(); ++k) {
        if (tokens_[k].text == "(") ++depth;
        if (tokens_[k].text == ")" && --depth == 0) break;
      }
      while (++k < tokens_.size() &&
             (tokens_[k].text == "const" || tokens_[k].text == "noexcept")) {
      }
      if (k < tokens_.size() && tokens_[k].text == "{")
        defined_.insert(std::string(tokens_[i].text));
    }
  }

  // Whether the code here is for the device: some function around it was declared so.
  void TrackScope(const CppToken& t) {
    if (t.directive != 0) return;
    if (t.text == "__global__" || t.text == "__device__") head_is_device_ = true;
    if (t.text == "{") {
      scopes_.push_back(head_is_device_ || (!scopes_.empty() && scopes_.back()));
      head_is_device_ = false;
    } else if (t.text == "}") {
      if (!scopes_.empty()) scopes_.pop_back();
      head_is_device_ = false;
    } else if (t.text == ";") {
      head_is_device_ = false;
    }
  }
  bool InDevice() const { return !scopes_.empty() && scopes_.back(); }

  // Includes.

  void Include() {
    const int line = tokens_[i_].line;
    if (i_ + 1 >= tokens_.size() || tokens_[i_ + 1].directive == 0) return;
    const CppToken& header = tokens_[i_ + 1];
    if (header.kind == Kind::kWord) return Add("forbidden_include", line, "made by a macro");
    if (header.text.size() < 3) return;
    const std::string_view name = header.text.substr(1, header.text.size() - 2);
    for (const auto& [prefix, code] : policy_.cpp.include_codes) {
      if (name == prefix || (EndsWith(prefix, "/") && StartsWith(name, prefix)))
        return Add(code, line, name);
    }
    if (HasPrefix(policy_.cpp.library_includes, name)) return Add("library_header", line, name);
    // What else there is, the compiler knows: it opens no file outside its own list.
    if (StartsWith(name, "/") || name.find("..") != std::string_view::npos)
      Add("forbidden_include", line, name);
  }

  // Macros.

  struct Macro {
    std::vector<std::string_view> parameters;
    std::vector<std::vector<std::string_view>> chains;  // words between ##
  };

  // The code of a word that a paste may make.
  std::string_view PastedCode(std::string_view word) const {
    if (auto it = policy_.cpp.names.find(word); it != policy_.cpp.names.end()) return it->second;
    if (auto it = policy_.cpp.calls.find(word); it != policy_.cpp.calls.end()) return it->second;
    return HasPrefix(policy_.cpp.library_prefixes, word) ? "library_call" : "";
  }

  void Define() {
    size_t k = i_ + 1;
    const int line = tokens_[i_].line;
    const int directive = tokens_[i_].directive;
    const auto in = [&](size_t n) {
      return n < tokens_.size() && tokens_[n].directive == directive;
    };
    if (!in(k)) return;
    const std::string_view name = tokens_[k].text;
    Macro macro;
    const bool with_arguments =
        in(k + 1) && tokens_[k + 1].text == "(" && tokens_[k + 1].line == tokens_[k].line &&
        tokens_[k + 1].column == tokens_[k].column + static_cast<int>(name.size());
    ++k;
    if (with_arguments) {
      for (++k; in(k) && tokens_[k].text != ")"; ++k) {
        if (tokens_[k].kind == Kind::kWord) macro.parameters.push_back(tokens_[k].text);
      }
      ++k;
    }
    i_ = k - 1;
    for (; in(k); ++k) {
      i_ = k;
      const CppToken& t = tokens_[k];
      if (t.text == "##" && k > 0 && in(k + 1)) {
        pastes_ = true;
        const bool goes_on = k > 1 && tokens_[k - 2].text == "##" && !macro.chains.empty();
        if (!goes_on) macro.chains.push_back({tokens_[k - 1].text});
        macro.chains.back().push_back(tokens_[k + 1].text);
      } else if (t.kind == Kind::kWord) {
        Word(t);
        if (const auto it = policy_.cpp.calls.find(t.text); it != policy_.cpp.calls.end())
          Add(it->second, t.line, "a macro that is " + std::string(t.text));
      }
    }
    for (const auto& chain : macro.chains) {
      const bool literal = std::none_of(chain.begin(), chain.end(), [&](std::string_view word) {
        return std::find(macro.parameters.begin(), macro.parameters.end(), word) !=
               macro.parameters.end();
      });
      if (literal) TryPaste(chain, line);
    }
    if (!macro.parameters.empty()) macros_[std::string(name)] = std::move(macro);
  }

  void TryPaste(const std::vector<std::string_view>& parts, int line) {
    if (++pasted_ > kPastedMax) return;
    std::string word;
    for (const std::string_view part : parts) word += part;
    if (!PastedCode(word).empty()) Add("token_paste_api", line, word);
  }

  // A call of a macro in a file that pastes: its arguments in the places of its own chains, and in
  // any order, since it may hand them to another macro.
  void MacroCall(const CppToken& t) {
    const auto it = macros_.find(t.text);
    if (!pastes_ || it == macros_.end() || After(1) != "(") return;
    std::vector<std::string_view> arguments = {""};
    size_t depth = 0;
    bool single = true;
    for (size_t k = i_ + 1; k < tokens_.size(); ++k) {
      const std::string_view text = tokens_[k].text;
      if (text == "(" && ++depth == 1) continue;
      if (text == ")" && --depth == 0) break;
      if (text == "," && depth == 1) {
        if (arguments.size() >= kArgumentsMax) return;
        arguments.emplace_back();
        single = true;
        continue;
      }
      arguments.back() = single && tokens_[k].kind == Kind::kWord ? text : std::string_view();
      single = false;
    }
    for (std::vector<std::string_view> chain : it->second.chains) {
      for (std::string_view& part : chain) {
        for (size_t p = 0; p < it->second.parameters.size() && p < arguments.size(); ++p) {
          if (part == it->second.parameters[p]) {
            part = arguments[p];
            break;
          }
        }
      }
      TryPaste(chain, t.line);
    }
    for (const std::string_view a : arguments) {
      for (const std::string_view b : arguments) {
        if (a.empty() || b.empty() || a.data() == b.data()) continue;
        TryPaste({a, b}, t.line);
        for (const std::string_view c : arguments) {
          if (!c.empty() && c.data() != a.data() && c.data() != b.data())
            TryPaste({a, b, c}, t.line);
        }
      }
    }
  }
  // Words.

  void Word(const CppToken& t) {
    const std::string_view before = Before(1), after = After(1);
    const bool member = before == "." || before == "->";
    if (member) {
      if (policy_.cpp.tensor_methods.contains(t.text) && after == "(" && !defined_.contains(t.text))
        Add("library_call", t.line, "." + std::string(t.text));
      return;
    }
    if (t.text == "asm" || t.text == "__asm__" || t.text == "__asm") {
      // A macro may be for device code, and is seen again where it is used: the compiler refuses
      // assembly in host code.
      if (t.directive == 0 && !InDevice()) Add("host_assembly", t.line, t.text);
      return;
    }
    if (const auto it = policy_.cpp.names.find(t.text);
        it != policy_.cpp.names.end() && !defined_.contains(t.text))
      Add(it->second, t.line, t.text);
    if (t.text == "constructor" && before == "(" && Before(2) == "(" &&
        Before(3) == "__attribute__")
      Add("forbidden_host_call", t.line, "a function that runs when the library is loaded");
    if (const auto it = policy_.cpp.calls.find(t.text);
        it != policy_.cpp.calls.end() && after == "(" && IsLibraryCall(t))
      Add(it->second, t.line, t.text);
    if (HasPrefix(policy_.cpp.library_prefixes, t.text) && before != "::" &&
        (after == "(" || after == "::" ||
         std::islower(static_cast<unsigned char>(t.text[0])) != 0) &&
        !defined_.contains(t.text) && IsLibraryName(t.text, after))
      Add("library_call", t.line, t.text);
    if (after == "::" && before != "::") Qualified(t);
    if (before == "::" && (i_ < 2 || tokens_[i_ - 2].kind != Kind::kWord)) Qualified(t);
    MacroCall(t);
    PointerCache(t);
  }

  // `cublasHandle_t h`, `cublasSgemm(`, `thrust::sort`: not a variable that begins like one.
  static bool IsLibraryName(std::string_view word, std::string_view after) {
    return after == "(" || after == "::" || EndsWith(word, "_t");
  }

  bool IsLibraryCall(const CppToken& t) const {
    const std::string_view before = Before(1);
    if (before == "::") {
      const std::string_view scope = Before(2);
      return i_ < 2 || tokens_[i_ - 2].kind != Kind::kWord || scope == "std" || scope == "return";
    }
    if (defined_.contains(t.text) || InDevice()) return false;
    // A declaration, `int open(...)`, is refused as well: it says where the name comes from.
    return true;
  }

  // A chain of names, a::b::c, that starts here.
  void Qualified(const CppToken& t) {
    std::string chain(t.text);
    size_t k = i_ + 1;
    std::string_view last = t.text;
    while (k + 1 < tokens_.size() && tokens_[k].text == "::" &&
           tokens_[k + 1].kind == Kind::kWord) {
      last = tokens_[k + 1].text;
      chain += "::" + std::string(last);
      k += 2;
      if (chain.size() > 200) break;
    }
    for (const auto& [name, code] : policy_.cpp.qualified) {
      const bool prefix = EndsWith(name, "*");
      const std::string_view head =
          std::string_view(name).substr(0, name.size() - (prefix ? 1 : 0));
      if (chain == head || StartsWith(chain, std::string(head) + (prefix ? "" : "::")))
        return Add(code, t.line, chain);
    }
    const size_t colons = chain.find("::");
    if (colons == std::string::npos || !policy_.cpp.tensor_namespaces.contains(t.text)) return;
    if (chain.find("::", colons + 2) != std::string::npos) return;
    const std::string_view after = k < tokens_.size() ? tokens_[k].text : "";
    const bool lower = std::islower(static_cast<unsigned char>(last[0])) != 0 || last[0] == '_';
    const bool constant =
        last.size() > 1 && last[0] == 'k' && std::isupper(static_cast<unsigned char>(last[1])) != 0;
    if (lower && !constant && (after == "(" || after == ")" || after == "," || after == ";") &&
        !policy_.cpp.tensor_functions.contains(last))
      Add("library_call", t.line, chain);
  }

  // static std::unordered_map<void*, torch::Tensor>: results found again by an address.
  void PointerCache(const CppToken& t) {
    if ((t.text != "map" && t.text != "unordered_map") || After(1) != "<") return;
    int depth = 0;
    bool tensor = false, address = false, key = true;
    for (size_t k = i_ + 1; k < tokens_.size() && k < i_ + 64; ++k) {
      const std::string_view text = tokens_[k].text;
      if (text == "<") ++depth;
      if (text == ">" && --depth == 0) break;
      if (text == "," && depth == 1) key = false;
      tensor = tensor || (!key && text == "Tensor");
      address = address || (key && (text == "*" || text == "uintptr_t" || text == "intptr_t"));
    }
    if (tensor && address)
      Add("pointer_cache", t.line, std::string(t.text) + " from addresses to tensors");
  }

  const Policy& policy_;
  CppTokens owner_;
  std::span<const CppToken> tokens_;
  size_t i_ = 0;
  std::vector<LegalityFinding> found_;
  Policy::Names defined_;
  std::vector<bool> scopes_;
  bool head_is_device_ = false, pastes_ = false;
  std::map<std::string, Macro, std::less<>> macros_;
  size_t pasted_ = 0;
};

}  // namespace

std::vector<LegalityFinding> CheckSource(std::string_view source, const Policy& policy) {
  return Check(source, policy).Run();
}

bool ApplyLegality(const std::vector<LegalityFinding>& found, const Policy& policy,
                   const std::string& file, verdict::Verdict& v) {
  const auto rank = [&](const LegalityFinding& f) {
    const Rule* rule = policy.Find(f.code);
    return std::pair(f.cls, rule == nullptr ? 0 : rule->rank);
  };
  const LegalityFinding* reason = nullptr;
  for (const LegalityFinding& f : found) {
    if (!f.reject) {
      const std::string where = f.line > 0 ? "line " + std::to_string(f.line) + ": " : "";
      v.notes.push_back(where + f.code + ": " + f.message);
      continue;
    }
    if (v.findings.size() < verdict::kMaxFindings)
      v.findings.push_back({.cls = f.cls, .message = f.message, .file = file, .line = f.line});
    if (reason == nullptr || rank(f) < rank(*reason)) reason = &f;
  }
  verdict::GateResult& gate = v.gates[static_cast<int>(verdict::Gate::kLegality)];
  if (reason == nullptr) {
    gate = {verdict::GateStatus::kPassed, "nothing against the policy " + policy.name};
    return false;
  }
  v.cls = reason->cls;
  v.reason = reason->code;
  v.summary = reason->message;
  if (reason->line > 0) v.summary += ", line " + std::to_string(reason->line);
  gate = {verdict::GateStatus::kFailed, v.summary};
  if (verdict::GateOf(v.cls) != verdict::Gate::kLegality)
    v.gates[static_cast<int>(verdict::GateOf(v.cls))] = gate;
  return true;
}

}  // namespace kuafu::verify

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The functions of one shared object, or of the program, that ranks call, each with the types of its
/// arguments. Its number names it.
///
/// Ranks run one executable, but it may lie at another address in each of them: a launcher starts new
/// processes, and the system places them at random. So an address is no name. Nor is the text of a type: g++
/// writes two lambdas of one function alike. A number is correct on every backend. Each function adds itself
/// before main begins, in the order of the object's list of constructors, which is the same in all its
/// processes. A receiver can check a number, but not an offset from a symbol.
///
/// Each shared object has a table, whether or not it hides its symbols: the order of a common table would
/// depend on the loader, and libraries may be loaded in any order. The calls of a team use the table of the
/// object that has made them, and its numbers are sent alone. make_calls compares `key` on all ranks, so
/// another executable is found before the first call. A function of another object is sent with its table's
/// key.
class call_table {
 public:
  struct entry {
    /// Runs the function at its target on the arguments in a record; writes its answer.
    void (*run)(void* calls, rank_t from, std::span<word const> record);
    std::size_t answer_words;  ///< of its value
    std::uint64_t name;        ///< a hash of the types, for the key
  };

  constexpr call_table() noexcept = default;
  call_table(call_table const&) = delete;
  call_table& operator=(call_table const&) = delete;
  ~call_table() {
    if (!is_known_) return;
    list& all = tables();
    std::scoped_lock const held(all.lock);
    std::erase(all.known, this);
  }

  /// Adds a function, and returns its number, which is not 0.
  std::uint32_t add(entry one) {
    list& all = tables();
    std::scoped_lock const held(all.lock);  // another thread may be searching for a table
    if (!std::exchange(is_known_, true)) all.known.push_back(this);
    if (functions_ == nullptr) functions_ = new std::vector<entry>;
    functions_->push_back(one);
    return static_cast<std::uint32_t>(functions_->size());
  }
  /// The function with this number, or null.
  [[nodiscard]] entry const* find(std::uint64_t number) const noexcept {
    return number - 1 < size() ? &(*functions_)[static_cast<std::size_t>(number) - 1] : nullptr;
  }
  /// A hash of the file's name without its folder, and of all functions.
  [[nodiscard]] std::uint64_t key() const noexcept {
    if (hashed_ == size() + 1) return key_;
    std::uint64_t hash = hash_of_file();
    for (std::size_t i = 0; i < size(); ++i) hash = (hash ^ (*functions_)[i].name) * prime;
    hashed_ = size() + 1;
    return key_ = hash;
  }
  /// The table with this key in this process; null if there is none, or more than one.
  [[nodiscard]] static call_table const* with(std::uint64_t key) {
    list& all = tables();
    std::scoped_lock const held(all.lock);
    call_table const* found = nullptr;
    for (call_table const* const one : all.known) {
      if (one->key() != key) continue;
      if (found != nullptr) return nullptr;
      found = one;
    }
    return found;
  }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3U;

  /// The tables of all objects in this process.
  struct list {
    static constexpr std::string_view shared_name = "tables of called functions";
    std::mutex lock;
    std::vector<call_table*> known;
  };
  static list& tables() { return one_per_process<list>(); }

  [[nodiscard]] std::uint64_t hash_of_file() const noexcept {
    struct search {
      std::uintptr_t of;
      std::uint64_t hash;
    } mine{reinterpret_cast<std::uintptr_t>(this), 0xcbf29ce484222325U};
    ::dl_iterate_phdr(
        [](::dl_phdr_info* object, std::size_t, void* data) {
          auto& s = *static_cast<search*>(data);
          for (auto const& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
            if (part.p_type != PT_LOAD || s.of - object->dlpi_addr - part.p_vaddr >= part.p_memsz) continue;
            std::string_view const path(object->dlpi_name);
            for (char const c : path.substr(path.rfind('/') + 1))
              s.hash = (s.hash ^ static_cast<unsigned char>(c)) * prime;
            return 1;
          }
          return 0;
        },
        &mine);
    return mine.hash;
  }

  [[nodiscard]] std::size_t size() const noexcept { return functions_ == nullptr ? 0 : functions_->size(); }

  std::vector<entry>* functions_ = nullptr;  ///< never destroyed: destructors of static objects may call
  bool is_known_ = false;
  mutable std::size_t hashed_ = 0;  ///< one more than the functions in key_; 0: it has none
  mutable std::uint64_t key_ = 0;
};

/// The table of the shared object whose code names it. It needs no constructor to run, so functions can add
/// themselves in any order.
[[gnu::visibility("hidden")]] constinit inline call_table functions_of_object;

/// The place of a function: a table of this process, and the number there; 0 before the function has added
/// itself, in constructors of some static objects.
struct called_entry {
  call_table const* table;
  std::uint32_t number;
};

}  // namespace PGAS_NAMESPACE::detail

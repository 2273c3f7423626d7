// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libintl.h>
#include <pthread.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The objects that all shared objects of a process share.
///
/// An inline variable or a static local exists once in each shared object that hides its symbols, and once
/// more in a program that loads a library by dlopen. No symbol is common to all of them. So the address of
/// this list is kept where every shared object finds it without a symbol: libc keeps a text for each
/// catalogue of messages, once a process. A fork copies it, and exec starts without it.
class process_objects {
 public:
  /// The object of this key and size; `make` makes it if there is none. If two threads make one at once, both
  /// get the first, and `drop` takes the other.
  static void* find(std::uint64_t key, std::size_t bytes, void* (*make)(), void (*drop)(void*) noexcept) {
    std::atomic<node*>& list = root().first;
    // acquire: pairs with the release below, which publishes the object of a node.
    node* first = list.load(std::memory_order_acquire);
    if (void* const known = among(first, nullptr, key, bytes)) return known;
    node* const mine = new node{key, bytes, make(), first};
    while (!list.compare_exchange_weak(mine->next, mine, std::memory_order_acq_rel)) {
      if (void* const theirs = among(mine->next, first, key, bytes)) {
        drop(mine->object);
        delete mine;
        return theirs;
      }
      first = mine->next;
    }
    return mine->object;
  }

  /// The 64-bit FNV-1a hash of a name and of the assertion level, on which a layout may depend.
  static constexpr std::uint64_t key_of(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U + static_cast<std::uint64_t>(assertions);
    for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
  }

 private:
  struct node {
    std::uint64_t key;
    std::size_t bytes;
    void* object;
    node* next;
  };
  struct list {
    std::atomic<node*> first{nullptr};
  };

  static void* among(node const* from, node const* to, std::uint64_t key, std::size_t bytes) noexcept {
    for (; from != to; from = from->next) {
      if (from->key == key && from->bytes == bytes) return from->object;
    }
    return nullptr;
  }
  static list& root() {
    static list& all = find_root();
    return all;
  }
  static list& find_root() {
    char const* const name = "pgas: objects of this process, version 1";
    char const* const format = "pgas: %p";
    void* known = nullptr;
    char const* const text = ::bindtextdomain(name, nullptr);
    if (text != nullptr && std::sscanf(text, format, &known) == 1) return *static_cast<list*>(known);
    auto* const made = new list;
    char place[32];
    std::snprintf(place, sizeof place, format, static_cast<void*>(made));
    ::bindtextdomain(name, place);  // without memory for the text, this shared object has its own list
    return *made;
  }
  /// The loader starts one shared object at a time, so no two of them make the list.
  [[gnu::visibility("hidden")]] static list& at_start;
};
[[gnu::visibility("hidden")]] inline process_objects::list& process_objects::at_start = root();

/// A type with one object in a process, or one in a thread. Compilers spell the names of types differently,
/// so such a type has a unique `shared_name`.
template <class T>
concept shared_by_objects = !std::is_polymorphic_v<T> && requires {
  { T::shared_name } -> std::convertible_to<std::string_view>;
};

/// The one object of a type in the process, whichever shared object uses it first. It is never destroyed, so
/// destructors of static objects can use it. A virtual function would disappear with the shared object that
/// made it, so the type has none.
template <shared_by_objects T>
T& one_per_process() {
  static T& one = *static_cast<T*>(process_objects::find(
      process_objects::key_of(T::shared_name), sizeof(T), [] { return static_cast<void*>(new T()); },
      [](void* unused) noexcept { delete static_cast<T*>(unused); }));
  return one;
}

/// The key by which a thread finds its object of a type.
template <shared_by_objects T>
struct thread_key {
  static constexpr std::string_view shared_name = T::shared_name;
  thread_key() noexcept { ::pthread_key_create(&key, std::free); }
  ::pthread_key_t key{};
};

template <class T>
concept plain_bytes = std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>;

/// The one object of a type in this thread, zero at first, whichever shared object uses it first. It lives
/// until the thread has ended. Costs a call of the thread library.
template <shared_by_objects T>
  requires plain_bytes<T>
T& one_per_thread() {
  ::pthread_key_t const key = one_per_process<thread_key<T>>().key;
  void* found = ::pthread_getspecific(key);
  if (found == nullptr) {
    found = std::calloc(1, sizeof(T));
    if (found == nullptr) throw std::bad_alloc();
    ::pthread_setspecific(key, found);
  }
  return *static_cast<T*>(found);
}

/// The place of an object that needs a constructor.
template <shared_by_objects T>
struct thread_place {
  static constexpr std::string_view shared_name = T::shared_name;
  T* at;
};

/// The same for other types: T() makes the object.
template <shared_by_objects T>
T& one_per_thread() {
  struct owner {
    bool is_used = false;
    ~owner() { delete std::exchange(one_per_thread<thread_place<T>>().at, nullptr); }
  };
  T*& at = one_per_thread<thread_place<T>>().at;
  if (at == nullptr) {
    static thread_local owner of_thread;  // the loader keeps its shared object until the thread has ended
    of_thread.is_used = true;
    at = new T();
  }
  return *at;
}

}  // namespace PGAS_NAMESPACE::detail

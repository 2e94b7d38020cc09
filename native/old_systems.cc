// What newer versions of libstdc++ and glibc have for code that their headers put into the addon, and older
// ones have not: see old_systems.h. All of it is hidden, so that it serves the addon only.

#include <new>

#define TFTRT_STANDS_FOR(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

// glibc 2.32: whether the process has one thread, so that counts need no atomic operations. It never has in
// Node.js.
extern char is_single_threaded TFTRT_STANDS_FOR("__libc_single_threaded");
char is_single_threaded = 0;

// GCC 11: `new` of an array with a size that cannot be.
[[noreturn]] void ThrowBadArrayNewLength() TFTRT_STANDS_FOR("_ZSt28__throw_bad_array_new_lengthv");
void ThrowBadArrayNewLength() { throw std::bad_array_new_length(); }

// GCC 11: the two halves of copying and destroying a std::exception_ptr, which were functions of the library
// until then and still are. An exception_ptr is one pointer.
void CopyException(void** copy,
                   void* const* original) __asm__("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void DestroyException(void** pointer) __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");

void AddReference(void** pointer) TFTRT_STANDS_FOR("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void AddReference(void** pointer) {
  void* copy;
  CopyException(&copy, pointer);
}

void Release(void** pointer) TFTRT_STANDS_FOR("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void Release(void** pointer) { DestroyException(pointer); }

// Included before each source of the addon (CMakeLists.txt). The addon that comes with the package is
// compiled on a newer system than those it has to run on. Here it is bound to the versions of the system's
// functions that old ones have too; test/setup/platform.test.ts measures what it needs.

#pragma once

#define TFTRT_BIND(symbol, version) __asm__(".symver " #symbol "," #symbol "@" version)

// In libdl and libpthread until glibc 2.34 made them part of libc, the same under a second version.
TFTRT_BIND(dlclose, "GLIBC_2.2.5");
TFTRT_BIND(dlerror, "GLIBC_2.2.5");
TFTRT_BIND(dlopen, "GLIBC_2.2.5");
TFTRT_BIND(dlsym, "GLIBC_2.2.5");
TFTRT_BIND(pthread_rwlock_rdlock, "GLIBC_2.2.5");
TFTRT_BIND(pthread_rwlock_unlock, "GLIBC_2.2.5");
TFTRT_BIND(pthread_rwlock_wrlock, "GLIBC_2.2.5");

// The newer version differs in what happens when another thread cancels this one by pthread_cancel.
TFTRT_BIND(_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "GLIBCXX_3.4.11");

#undef TFTRT_BIND

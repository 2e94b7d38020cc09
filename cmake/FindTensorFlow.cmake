# Finds TensorFlow's libraries and headers as the PyPI wheel lays them out.
#
# Input:   TFTRT_TENSORFLOW_DIR   the `tensorflow` folder of an installation (src/setup passes it)
# Result:  TensorFlow_FOUND, TensorFlow_VERSION and the imported target TensorFlow::cc

set(_tensorflow_include "${TFTRT_TENSORFLOW_DIR}/include")

set(TensorFlow_VERSION "")
set(_tensorflow_version_header "${_tensorflow_include}/tensorflow/core/public/version.h")
if(EXISTS "${_tensorflow_version_header}")
  file(READ "${_tensorflow_version_header}" _tensorflow_version_text)
  foreach(_part MAJOR MINOR PATCH)
    if(_tensorflow_version_text MATCHES "#define TF_${_part}_VERSION ([0-9]+)")
      list(APPEND TensorFlow_VERSION "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN TensorFlow_VERSION "." TensorFlow_VERSION)
endif()

# The wheel has its libraries under their sonames only, which find_library() does not look for.
set(TensorFlow_CC_LIBRARY "${TFTRT_TENSORFLOW_DIR}/libtensorflow_cc.so.2")
set(TensorFlow_FRAMEWORK_LIBRARY "${TFTRT_TENSORFLOW_DIR}/libtensorflow_framework.so.2")
foreach(_library TensorFlow_CC_LIBRARY TensorFlow_FRAMEWORK_LIBRARY)
  if(NOT EXISTS "${${_library}}")
    set(${_library} "${_library}-NOTFOUND")
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TensorFlow
  REQUIRED_VARS TensorFlow_CC_LIBRARY TensorFlow_FRAMEWORK_LIBRARY TensorFlow_VERSION
  VERSION_VAR TensorFlow_VERSION)

if(TensorFlow_FOUND AND NOT TARGET TensorFlow::cc)
  add_library(TensorFlow::cc INTERFACE IMPORTED)
  # Imported targets' include folders are SYSTEM ones: the compiler does not warn about what is in them.
  target_include_directories(
    TensorFlow::cc
    INTERFACE "${_tensorflow_include}"
              "${_tensorflow_include}/external/farmhash_archive/src"
              "${_tensorflow_include}/third_party/gpus/cuda/include")
  target_link_directories(TensorFlow::cc INTERFACE "${TFTRT_TENSORFLOW_DIR}")
  target_link_libraries(TensorFlow::cc INTERFACE -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2)
endif()

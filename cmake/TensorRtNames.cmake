# libtftrt_tensorrt.so: no code, only a list of needed libraries and a RUNPATH. It lies beside TensorRT's libraries; opening
# it makes them known under the names that TensorFlow and TensorRT ask for (see src/setup/gpu_libraries.ts).

set(_empty "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
file(WRITE "${_empty}" "")
add_library(tftrt_tensorrt SHARED "${_empty}")
target_link_options(tftrt_tensorrt PRIVATE -nostdlib "LINKER:--no-as-needed,--enable-new-dtags" "LINKER:-rpath,$ORIGIN")

# TensorRT need not be here to be linked with: libraries of the same names serve.
foreach(_name libnvinfer.so.8.6.1 libnvinfer_plugin.so.8.6.1 libnvinfer_builder_resource.so.8.6.1)
  add_library(${_name} SHARED "${_empty}")
  set_target_properties(
    ${_name} PROPERTIES PREFIX "" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/names")
  target_link_options(${_name} PRIVATE -nostdlib)
  target_link_libraries(tftrt_tensorrt PRIVATE ${_name})
endforeach()

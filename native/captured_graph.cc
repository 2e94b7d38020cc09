#include "captured_graph.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "capturable.h"
#include "copy_threads.h"
#include "cudnn_handle.h"
#include "error.h"
#include "transfers.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

Error NotCaptured(const std::string& reason) {
  return Error("TFTRT_NOT_CAPTURED", absl::StrCat("the graph cannot run as a CUDA graph: ", reason));
}

// Inputs from here on are copied by several threads.
constexpr size_t kWorthThreads = 2 << 20;
// The copy of larger outputs takes so much longer than what is saved that it is not worth doing in vain.
constexpr size_t kMostToReadEarly = 256 << 10;

CUdeviceptr Address(const tf::Tensor& tensor) { return reinterpret_cast<CUdeviceptr>(tensor.data()); }

}  // namespace

std::mutex& ArenaMutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

namespace {

// Whoever comes after a recording that waits has to wait, too: a shared_mutex alone would let them all pass.
std::mutex& RecordingQueue() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

std::shared_mutex& RecordingMutex() {
  static auto* mutex = new std::shared_mutex();
  return *mutex;
}

}  // namespace

std::unique_lock<std::shared_mutex> LockForRecording() {
  const std::lock_guard<std::mutex> queue(RecordingQueue());
  return std::unique_lock<std::shared_mutex>(RecordingMutex());
}

std::shared_lock<std::shared_mutex> HoldOffRecording() {
  const std::lock_guard<std::mutex> queue(RecordingQueue());
  return std::shared_lock<std::shared_mutex>(RecordingMutex());
}

// Blocks of the arena that are taken so that nobody else gets them.
class CapturedGraph::Plugs {
 public:
  explicit Plugs(tf::Allocator* allocator) : allocator_(allocator) {}
  ~Plugs() { Release(); }

  // Takes one block; false where there is none of that size.
  bool Take(size_t bytes) {
    tf::AllocationAttributes attributes;
    attributes.retry_on_failure = false;
    void* block = allocator_->AllocateRaw(tf::Allocator::kAllocatorAlignment, bytes, attributes);
    if (block == nullptr) return false;
    blocks_.push_back(block);
    return true;
  }
  // Takes all that is free.
  void TakeAll(size_t largest) {
    constexpr size_t kSmallest = 256;  // the allocator's own granularity
    for (size_t bytes = largest; bytes >= kSmallest;) {
      if (!Take(bytes)) bytes = bytes / 2 / kSmallest * kSmallest;
    }
  }
  void Release() {
    for (void* block : blocks_) allocator_->DeallocateRaw(block);
    blocks_.clear();
  }

 private:
  tf::Allocator* const allocator_;
  std::vector<void*> blocks_;
};

CapturedGraph::CapturedGraph(Runtime& runtime, std::shared_ptr<Program> program,
                             const tf::CallableOptions& options, const std::vector<HandlePtr>& samples)
    : runtime_(runtime), program_(std::move(program)) {
  if (runtime_.arena() == nullptr) throw NotCaptured("there is no memory for it (graphArenaBytes is 0)");
  // Told without a run on the arena.
  if (!program_->control_flow().empty())
    throw NotCaptured(absl::StrCat("the op ", program_->control_flow(), " decides as it runs what runs"));
  std::lock_guard<std::mutex> lock(ArenaMutex());
  const CudaContext context(runtime_.platform_device_id());
  for (const HandlePtr& sample : samples) {
    if (sample->dtype != tf::DT_FLOAT || !runtime_.IsOnDevice(sample.get()))
      throw NotCaptured("an input is not float32");
    const tf::Tensor& tensor = TensorOf(sample.get());
    inputs_.push_back(runtime_.AllocateInArena(tf::DT_FLOAT, tensor.shape()));
    if (tensor.TotalBytes() == 0) throw NotCaptured("an input is empty");
  }
  // From here on the samples may be given to others.
  for (size_t i = 0; i < samples.size(); ++i) {
    CheckCuda(Cuda().MemcpyDtoDAsync(Address(inputs_[i]), Address(TensorOf(samples[i].get())),
                                     inputs_[i].TotalBytes(), runtime_.compute_stream()),
              "copying an input");
  }
  CheckCuda(Cuda().StreamSynchronize(runtime_.compute_stream()), "waiting for an input");
  RequireCapturable(options);
  callable_ = std::make_unique<Callable>(program_, options);
  Measure();
  try {
    Record();
    Instantiate();
  } catch (...) {
    DestroyGraph();
    throw;
  }
}

void CapturedGraph::DestroyGraph() {
  if (executable_ != nullptr) Cuda().GraphExecDestroy(executable_);
  if (graph_ != nullptr) Cuda().GraphDestroy(graph_);
}

CapturedGraph::~CapturedGraph() {
  std::optional<CudaContext> context;
  try {
    context.emplace(runtime_.platform_device_id());
    // Replays in flight use the memory that goes back now.
    Cuda().StreamSynchronize(runtime_.compute_stream());
  } catch (const Error&) {
    // The driver is gone, and the memory with it.
  }
  // The next to be recorded must not get memory of a recording that is still going on.
  std::lock_guard<std::mutex> lock(ArenaMutex());
  if (context) {
    for (Staging& staging : staging_) {
      if (staging.copied != nullptr) Cuda().EventDestroy(staging.copied);
    }
    for (Ahead& ahead : ahead_) {
      if (ahead.free != nullptr) Cuda().EventDestroy(ahead.free);
      if (ahead.filled != nullptr) Cuda().EventDestroy(ahead.filled);
    }
    DestroyGraph();
  }
  scratch_.reset();
  inputs_.clear();
  outputs_.clear();
  // The session's memory is of the arena, too.
  callable_.reset();
  program_.reset();
}

// Looks at the graph that TensorFlow runs, after its own optimisations and placement.
void CapturedGraph::RequireCapturable(const tf::CallableOptions& options) {
  tf::CallableOptions inspecting = options;
  inspecting.mutable_run_options()->set_output_partition_graphs(true);
  Callable callable(program_, inspecting);
  tf::RunMetadata metadata;
  std::vector<tf::Tensor> outputs;
  {
    // Some of what engines need comes with the first run.
    const LoadingEngines loading(program_->engine_loads());
    outputs = callable.RunTensors(inputs_, &metadata);
  }
  const std::string reason = ReasonNotToCapture(metadata.partition_graphs(), runtime_.arena()->name());
  if (!reason.empty()) throw NotCaptured(reason);
  may_use_cudnn_ = MayUseCudnn(metadata.partition_graphs());
  for (const tf::Tensor& output : outputs) {
    if (output.dtype() != tf::DT_FLOAT) throw NotCaptured("an output is not float32");
  }
}

// Runs as ever, for TensorFlow to choose its algorithms and for us to see what the run takes; then in blocks
// of the arena, for one that is large enough. Kernels give back and take pieces of all sizes, so that may be
// more than what is in use at once.
void CapturedGraph::Measure() {
  MeasureRun();
  const RunMemory needed = MeasureRun();
  for (room_ = needed.peak_bytes * 5 / 4 + (1 << 20);; room_ *= 2) {
    Plugs block(ArenaAllocator()), others(ArenaAllocator());
    TakeAllButRoom(&block, &others);
    block.Release();
    try {
      // Without memory for its scratch, a convolution takes a slower algorithm and says nothing.
      if (MeasureRun().allocations == needed.allocations) {
        allocations_ = needed.allocations;
        return;
      }
    } catch (const Error&) {
      // Each library has an error of its own for memory that is not there. With all of the arena it ran.
      ThrowIfError(runtime_.arena()->Sync(), "warming up");
    }
  }
}

CapturedGraph::RunMemory CapturedGraph::MeasureRun() {
  tf::Allocator* allocator = ArenaAllocator();
  const int64_t before = allocator->GetStats()->bytes_in_use;
  if (!allocator->ClearStats()) throw NotCaptured("the arena's allocator keeps no figures");
  outputs_ = callable_->RunTensors(inputs_, nullptr);
  const tf::AllocatorStats stats = *allocator->GetStats();
  outputs_.clear();
  ThrowIfError(runtime_.arena()->Sync(), "warming up");
  // Other graphs of the arena may have given memory back meanwhile.
  return {std::max<int64_t>(0, stats.peak_bytes_in_use - before), stats.num_allocs};
}

// Takes a block of `room_` bytes, and all else that is free.
void CapturedGraph::TakeAllButRoom(Plugs* block, Plugs* others) {
  if (!block->Take(room_)) {
    throw NotCaptured(absl::StrCat("it needs ", room_,
                                   " bytes of the arena in one piece, which has not that much "
                                   "left: raise graphArenaBytes"));
  }
  others->TakeAll(ArenaAllocator()->GetStats()->bytes_limit.value_or(int64_t{1} << 40));
}

tf::Allocator* CapturedGraph::ArenaAllocator() const {
  return runtime_.arena()->GetAllocator(tf::AllocatorAttributes());
}

void CapturedGraph::Record() {
  const std::unique_lock<std::shared_mutex> recording = LockForRecording();
  Plugs block(ArenaAllocator()), others(ArenaAllocator());
  TakeAllButRoom(&block, &others);
  block.Release();

  if (!ArenaAllocator()->ClearStats()) throw NotCaptured("the arena's allocator keeps no figures");
  const tf::Tensor scratch = runtime_.Allocate(tf::DT_FLOAT, {2});
  const auto move_cudnn = [&] {
    return may_use_cudnn_ ? MoveCudnnHandle(runtime_.gpu(), scratch) : absl::OkStatus();
  };
  // What the first use makes and loads is not for a recording.
  ThrowIfError(move_cudnn(), "recording a CUDA graph");
  const CUstream stream = runtime_.arena_stream();
  CheckCuda(Cuda().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "beginning a CUDA graph");
  std::exception_ptr failure;
  try {
    outputs_ = callable_->RunTensors(inputs_, nullptr);
  } catch (...) {
    failure = std::current_exception();
  }
  // Others use it at any time, and must not find it in a recording that ends.
  const absl::Status moved = move_cudnn();
  const CUresult ended = Cuda().StreamEndCapture(stream, &graph_);
  if (failure) std::rethrow_exception(failure);
  ThrowIfError(moved, "recording a CUDA graph");
  CheckCuda(ended, "recording a CUDA graph");
  if (ArenaAllocator()->GetStats()->num_allocs != allocations_)
    throw NotCaptured("it took other memory than in the runs before");
  scratch_ = std::make_unique<Plugs>(ArenaAllocator());
  scratch_->TakeAll(room_);
}

void CapturedGraph::Instantiate() {
  size_t nodes = 0;
  CheckCuda(Cuda().GraphGetNodes(graph_, nullptr, &nodes), "reading a CUDA graph");
  if (nodes == 0) throw NotCaptured("it has nothing for the GPU to do");
  CheckCuda(Cuda().GraphInstantiate(&executable_, graph_, 0), "making a CUDA graph");
  staging_.resize(2 * inputs_.size());
  ahead_.resize(inputs_.size());
}

// Pinned memory that nothing copies from any more.
CapturedGraph::Staging& CapturedGraph::FreeStaging(size_t input) {
  Staging& staging = staging_[2 * input + turn_ % 2];
  if (staging.copied == nullptr) {
    staging.tensor = runtime_.AllocateStaging(tf::DT_FLOAT, inputs_[input].shape());
    CheckCuda(Cuda().EventCreate(&staging.copied, CU_EVENT_DISABLE_TIMING), "making an event");
  } else if (Cuda().EventQuery(staging.copied) == CUDA_ERROR_NOT_READY) {
    GetTransfers().AddSynchronization();
    CheckCuda(Cuda().EventSynchronize(staging.copied), "waiting for an upload");
  }
  return staging;
}

// So that the GPU fetches the first piece while the second is copied.
void CapturedGraph::UploadInPieces(size_t input, const void* source) {
  const CUstream stream = runtime_.compute_stream();
  const size_t bytes = inputs_[input].TotalBytes();
  const Staging& staging = FreeStaging(input);
  char* pinned = static_cast<char*>(staging.tensor.data());
  constexpr size_t kPiece = 256 << 10;
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    const size_t piece = std::min(kPiece, bytes - begin);
    CopyForGpu(pinned + begin, static_cast<const char*>(source) + begin, piece);
    CheckCuda(Cuda().MemcpyHtoDAsync(Address(inputs_[input]) + begin, pinned + begin, piece, stream),
              "uploading an input");
  }
  GetTransfers().host_to_device.Add(bytes);
  CheckCuda(Cuda().EventRecord(staging.copied, stream), "recording an event");
}

// By several threads, and while the GPU still computes.
void CapturedGraph::UploadAhead(size_t input, const void* source) {
  const CUstream stream = runtime_.compute_stream();
  GpuStream& gpu_stream = runtime_.StreamOf(runtime_.gpu());
  const size_t bytes = inputs_[input].TotalBytes();
  Ahead& ahead = ahead_[input];
  if (ahead.tensor.TotalBytes() == 0) {
    tf::AllocationAttributes attributes;
    attributes.retry_on_failure = false;
    tf::Tensor memory(runtime_.gpu()->GetAllocator(tf::AllocatorAttributes()), tf::DT_FLOAT,
                      inputs_[input].shape(), attributes);
    if (!memory.IsInitialized()) {  // no memory to spare: the upload waits for the replay before
      gpu_stream.CopyFromHost(inputs_[input].data(), source, bytes, /*booleans=*/false);
      return;
    }
    for (CUevent* event : {&ahead.free, &ahead.filled}) {
      if (*event == nullptr) CheckCuda(Cuda().EventCreate(event, CU_EVENT_DISABLE_TIMING), "making an event");
    }
    // What had this memory before may still run.
    CheckCuda(Cuda().EventRecord(ahead.free, stream), "recording an event");
    ahead.tensor = std::move(memory);
  }
  gpu_stream.CopyFromHostAside(ahead.tensor.data(), source, bytes, ahead.free, ahead.filled);
  CheckCuda(Cuda().StreamWaitEvent(stream, ahead.filled, CU_EVENT_WAIT_DEFAULT), "waiting for an upload");
  gpu_stream.CopyOnDevice(inputs_[input].data(), ahead.tensor.data(), bytes);
  CheckCuda(Cuda().EventRecord(ahead.free, stream), "recording an event");
}

// Chains of predictions on the device, whose inputs are there, are spared copies that nobody wants.
std::vector<std::unique_ptr<OutputRead>> CapturedGraph::BeginReads(const std::vector<CapturedInput>& inputs) {
  const bool from_host =
      std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.host != nullptr; });
  const bool early = from_host && habit_->IsToRead();
  GpuStream& stream = runtime_.StreamOf(runtime_.gpu());
  std::vector<std::unique_ptr<OutputRead>> reads;
  for (const tf::Tensor& output : outputs_) {
    std::unique_ptr<GpuRead> read;
    try {
      if (early && output.TotalBytes() <= kMostToReadEarly)
        read = std::make_unique<GpuRead>(stream, output.data(), output.TotalBytes());
    } catch (const Error&) {
      // Without pinned memory for it, the output is read when it is asked for.
    }
    reads.push_back(std::make_unique<OutputRead>(habit_, std::move(read)));
  }
  return reads;
}

std::vector<HandlePtr> CapturedGraph::Run(const std::vector<CapturedInput>& inputs,
                                          std::vector<std::unique_ptr<OutputRead>>* reads) {
  const CudaContext context(runtime_.platform_device_id());
  const CUstream stream = runtime_.compute_stream();
  std::vector<tf::Tensor> results;
  for (const tf::Tensor& output : outputs_)
    results.push_back(runtime_.Allocate(tf::DT_FLOAT, output.shape()));

  std::lock_guard<std::mutex> lock(mutex_);
  ++turn_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t bytes = inputs_[i].TotalBytes();
    if (inputs[i].tensor != nullptr) {
      // Some kernels leave float32 in host memory.
      const tf::Tensor tensor = runtime_.TensorOn(inputs[i].tensor, /*on_device=*/true);
      CheckCuda(Cuda().MemcpyDtoDAsync(Address(inputs_[i]), Address(tensor), bytes, stream),
                "copying an input");
      GetTransfers().device_to_device.Add(bytes);
      continue;
    }
    if (bytes > kWorthThreads) {
      UploadAhead(i, inputs[i].host);
    } else {
      UploadInPieces(i, inputs[i].host);
    }
  }
  CheckCuda(Cuda().GraphLaunch(executable_, stream), "running a CUDA graph");
  if (reads != nullptr) *reads = BeginReads(inputs);
  std::vector<HandlePtr> handles;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    CheckCuda(
        Cuda().MemcpyDtoDAsync(Address(results[i]), Address(outputs_[i]), outputs_[i].TotalBytes(), stream),
        "copying an output");
    GetTransfers().device_to_device.Add(outputs_[i].TotalBytes());
    handles.push_back(runtime_.Wrap(std::move(results[i]), true));
  }
  return handles;
}

}  // namespace tftrt

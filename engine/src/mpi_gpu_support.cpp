#include "mpi_gpu_support.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi_transport.hpp"

namespace fabricgauge {

namespace {

// No MPI has them all, and the headers that declare them differ, so they are looked up by name:
// MPIX_Query_cuda_support in Open MPI 2.0 and MPICH 4.0, MPIX_Query_rocm_support in Open MPI 5.0,
// MPIX_Query_hip_support and MPIX_GPU_query_support in MPICH 4.0 and what is made from it.
struct Question {
    const char* interface;
    const char* function;
};
constexpr Question questions[] = {{"cuda", "MPIX_Query_cuda_support"},
                                  {"hip", "MPIX_Query_rocm_support"},
                                  {"hip", "MPIX_Query_hip_support"}};

// MPIX_GPU_SUPPORT_CUDA and MPIX_GPU_SUPPORT_HIP of MPICH 4.0.
constexpr const char* general_question = "MPIX_GPU_query_support";
constexpr int mpich_cuda = 0;
constexpr int mpich_hip = 2;

struct Answers {
    bool yes = false;
    std::string no;  // the functions that said 0
};

void take(Answers& answers, const char* function, bool yes) {
    answers.yes |= yes;
    if (!yes) answers.no += (answers.no.empty() ? "" : " and ") + std::string(function);
}

Answers ask(const char* interface) {
    Answers answers;
    for (const Question& question : questions) {
        void* const found = dlsym(RTLD_DEFAULT, question.function);
        if (found == nullptr || std::strcmp(question.interface, interface) != 0) continue;
        take(answers, question.function, reinterpret_cast<int (*)()>(found)() == 1);
    }
    if (void* const found = dlsym(RTLD_DEFAULT, general_question)) {
        int supported = 0;
        const int kind = std::strcmp(interface, "cuda") == 0 ? mpich_cuda : mpich_hip;
        const int code = reinterpret_cast<int (*)(int, int*)>(found)(kind, &supported);
        take(answers, general_question, code == MPI_SUCCESS && supported != 0);
    }
    return answers;
}

// Intel MPI Developer Reference 2021.12, "GPU Buffers Support": 0 switches it off.
bool intel_offloads(const std::string& library) {
    const char* const value = std::getenv("I_MPI_OFFLOAD");
    return library.find("Intel") != std::string::npos && value != nullptr && *value != '\0' &&
           std::strcmp(value, "0") != 0;
}

}  // namespace

std::string missing_gpu_support(const DeviceMemory& device) {
    const std::string library = mpi_version().library;
    const Answers answers = ask(device.interface());
    if (answers.yes || intel_offloads(library)) return "";
    const std::string why = answers.no.empty()
                                ? "it has no function that tells"
                                : "it answers no to " + answers.no;
    const std::string mend = library.find("Intel") != std::string::npos
                                 ? "; set I_MPI_OFFLOAD=1, or use another MPI"
                                 : "; use an MPI that is built for this GPU, with that switched on";
    return "the MPI (" + library + ") does not say that it is GPU-aware for " +
           device.interface() + " memory: " + why + mend;
}

}  // namespace fabricgauge

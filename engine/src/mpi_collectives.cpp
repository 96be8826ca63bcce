#include "mpi_collectives.hpp"

namespace fabricgauge {

MpiCollectives::MpiCollectives(MPI_Comm communicator, const CollectiveMemory& memory)
    : communicator_(communicator), out_(memory.out), in_(memory.in),
      bytes_(static_cast<int>(memory.bytes)),
      floats_(static_cast<int>(memory.bytes / static_cast<std::int64_t>(sizeof(float)))),
      counts_(memory.counts), offsets_(memory.offsets) {}

}  // namespace fabricgauge

"""Count what one MPI call executes, instruction by instruction, and compare two counts."""

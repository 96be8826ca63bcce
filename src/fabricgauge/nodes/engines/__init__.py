"""Find MPI installations, build the measuring program against them, and keep the builds."""

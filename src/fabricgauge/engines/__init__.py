"""The measuring program: finding MPI installations, building against them, keeping the builds."""

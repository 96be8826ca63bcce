// Every call that is recorded, one row each: X(name, in Fortran, parameters, kind, size, peer, where).
//
// The types come from the MPI's own header. `kind` is what a report groups by. `size` says how many
// bytes, `peer` to whom, `where` in which communicator or window; numbers are places of parameters.
// A message is counted where it is sent: a receive may be posted for more than comes, and from
// anybody. Of a collective the size is that of one rank's part (of a pair's in an alltoall, of the
// whole vector in a reduction), taken from the side that counts even with MPI_IN_PLACE.
// Source: MPI: A Message-Passing Interface Standard, version 3.1, and version 4.0 for ..._c.
#pragma once

// Calls with a count: each has a form for large counts in MPI 4.
#define FABRICGAUGE_COUNTED_CALLS(X)                                                               \
    X(Send, send, 6, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                              \
    X(Ssend, ssend, 6, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                            \
    X(Bsend, bsend, 6, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                            \
    X(Rsend, rsend, 6, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                            \
    X(Isend, isend, 7, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                            \
    X(Issend, issend, 7, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                          \
    X(Ibsend, ibsend, 7, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                          \
    X(Irsend, irsend, 7, PointToPoint, (Counted<1, 2>), To<3>, Within<5>)                          \
    X(Sendrecv, sendrecv, 12, PointToPoint, (Counted<1, 2>), To<3>, Within<10>)                    \
    X(Sendrecv_replace, sendrecv_replace, 9, PointToPoint, (Counted<1, 2>), To<3>, Within<7>)      \
    X(Send_init, send_init, 7, Persistent, (Counted<1, 2>), To<3>, Within<5>)                      \
    X(Ssend_init, ssend_init, 7, Persistent, (Counted<1, 2>), To<3>, Within<5>)                    \
    X(Bsend_init, bsend_init, 7, Persistent, (Counted<1, 2>), To<3>, Within<5>)                    \
    X(Rsend_init, rsend_init, 7, Persistent, (Counted<1, 2>), To<3>, Within<5>)                    \
    X(Recv_init, recv_init, 7, Persistent, Unsized, Anybody, Within<5>)                            \
    X(Recv, recv, 7, PointToPoint, Unsized, Anybody, Within<5>)                                    \
    X(Irecv, irecv, 7, PointToPoint, Unsized, Anybody, Within<5>)                                  \
    X(Mrecv, mrecv, 5, PointToPoint, Unsized, Anybody, Nowhere)                                    \
    X(Imrecv, imrecv, 5, PointToPoint, Unsized, Anybody, Nowhere)                                  \
    X(Bcast, bcast, 5, Collective, (Counted<1, 2>), Anybody, Within<4>)                            \
    X(Ibcast, ibcast, 6, Collective, (Counted<1, 2>), Anybody, Within<4>)                          \
    X(Reduce, reduce, 7, Collective, (Counted<2, 3>), Anybody, Within<6>)                          \
    X(Ireduce, ireduce, 8, Collective, (Counted<2, 3>), Anybody, Within<6>)                        \
    X(Allreduce, allreduce, 6, Collective, (Counted<2, 3>), Anybody, Within<5>)                    \
    X(Iallreduce, iallreduce, 7, Collective, (Counted<2, 3>), Anybody, Within<5>)                  \
    X(Scan, scan, 6, Collective, (Counted<2, 3>), Anybody, Within<5>)                              \
    X(Iscan, iscan, 7, Collective, (Counted<2, 3>), Anybody, Within<5>)                            \
    X(Exscan, exscan, 6, Collective, (Counted<2, 3>), Anybody, Within<5>)                          \
    X(Iexscan, iexscan, 7, Collective, (Counted<2, 3>), Anybody, Within<5>)                        \
    X(Reduce_scatter, reduce_scatter, 6, Collective, (Summed<2, 3>), Anybody, Within<5>)           \
    X(Ireduce_scatter, ireduce_scatter, 7, Collective, (Summed<2, 3>), Anybody, Within<5>)         \
    X(Reduce_scatter_block, reduce_scatter_block, 6, Collective, (OfEach<2, 3>), Anybody, Within<5>) \
    X(Ireduce_scatter_block, ireduce_scatter_block, 7, Collective, (OfEach<2, 3>), Anybody, Within<5>) \
    X(Gather, gather, 8, Collective, (Rooted<6, 4, 5, 1, 2>), Anybody, Within<7>)                  \
    X(Igather, igather, 9, Collective, (Rooted<6, 4, 5, 1, 2>), Anybody, Within<7>)                \
    X(Gatherv, gatherv, 9, Collective, (RootedParts<7, 4, 6, 1, 2>), Anybody, Within<8>)           \
    X(Igatherv, igatherv, 10, Collective, (RootedParts<7, 4, 6, 1, 2>), Anybody, Within<8>)        \
    X(Scatter, scatter, 8, Collective, (Rooted<6, 1, 2, 4, 5>), Anybody, Within<7>)                \
    X(Iscatter, iscatter, 9, Collective, (Rooted<6, 1, 2, 4, 5>), Anybody, Within<7>)              \
    X(Scatterv, scatterv, 9, Collective, (RootedParts<7, 1, 3, 5, 6>), Anybody, Within<8>)         \
    X(Iscatterv, iscatterv, 10, Collective, (RootedParts<7, 1, 3, 5, 6>), Anybody, Within<8>)      \
    X(Allgather, allgather, 7, Collective, (Counted<4, 5>), Anybody, Within<6>)                    \
    X(Iallgather, iallgather, 8, Collective, (Counted<4, 5>), Anybody, Within<6>)                  \
    X(Allgatherv, allgatherv, 8, Collective, (OwnPart<4, 6>), Anybody, Within<7>)                  \
    X(Iallgatherv, iallgatherv, 9, Collective, (OwnPart<4, 6>), Anybody, Within<7>)                \
    X(Alltoall, alltoall, 7, Collective, (ToEach<4, 5>), Anybody, Within<6>)                       \
    X(Ialltoall, ialltoall, 8, Collective, (ToEach<4, 5>), Anybody, Within<6>)                     \
    X(Alltoallv, alltoallv, 9, Collective, (MeanOf<5, 7>), Anybody, Within<8>)                     \
    X(Ialltoallv, ialltoallv, 10, Collective, (MeanOf<5, 7>), Anybody, Within<8>)                  \
    X(Alltoallw, alltoallw, 9, Collective, (MeanOfTypes<5, 7>), Anybody, Within<8>)                \
    X(Ialltoallw, ialltoallw, 10, Collective, (MeanOfTypes<5, 7>), Anybody, Within<8>)             \
    X(Neighbor_allgather, neighbor_allgather, 7, Collective, (Counted<1, 2>), Anybody, Within<6>)  \
    X(Ineighbor_allgather, ineighbor_allgather, 8, Collective, (Counted<1, 2>), Anybody, Within<6>) \
    X(Neighbor_allgatherv, neighbor_allgatherv, 8, Collective, (Counted<1, 2>), Anybody, Within<7>) \
    X(Ineighbor_allgatherv, ineighbor_allgatherv, 9, Collective, (Counted<1, 2>), Anybody, Within<7>) \
    X(Neighbor_alltoall, neighbor_alltoall, 7, Collective, (Counted<1, 2>), Anybody, Within<6>)    \
    X(Ineighbor_alltoall, ineighbor_alltoall, 8, Collective, (Counted<1, 2>), Anybody, Within<6>)  \
    X(Neighbor_alltoallv, neighbor_alltoallv, 9, Collective, Unsized, Anybody, Within<8>)          \
    X(Ineighbor_alltoallv, ineighbor_alltoallv, 10, Collective, Unsized, Anybody, Within<8>)       \
    X(Put, put, 8, OneSided, (Counted<1, 2>), To<3>, Inside<7>)                                    \
    X(Rput, rput, 9, OneSided, (Counted<1, 2>), To<3>, Inside<7>)                                  \
    X(Get, get, 8, OneSided, (Counted<1, 2>), From<3>, Inside<7>)                                  \
    X(Rget, rget, 9, OneSided, (Counted<1, 2>), From<3>, Inside<7>)                                \
    X(Accumulate, accumulate, 9, OneSided, (Counted<1, 2>), To<3>, Inside<8>)                      \
    X(Raccumulate, raccumulate, 10, OneSided, (Counted<1, 2>), To<3>, Inside<8>)                   \
    X(Get_accumulate, get_accumulate, 12, OneSided, (Counted<4, 5>), To<6>, Inside<11>)            \
    X(Rget_accumulate, rget_accumulate, 13, OneSided, (Counted<4, 5>), To<6>, Inside<11>)

#define FABRICGAUGE_OTHER_CALLS(X)                                                                 \
    X(Fetch_and_op, fetch_and_op, 7, OneSided, One<2>, To<3>, Inside<6>)                           \
    X(Compare_and_swap, compare_and_swap, 7, OneSided, One<3>, To<4>, Inside<6>)                   \
    X(Barrier, barrier, 1, Collective, Unsized, Anybody, Within<0>)                                \
    X(Ibarrier, ibarrier, 2, Collective, Unsized, Anybody, Within<0>)                              \
    X(Start, start, 1, Starting, Unsized, Anybody, Nowhere)                                        \
    X(Startall, startall, 2, Starting, Unsized, Anybody, Nowhere)                                  \
    X(Wait, wait, 2, Waiting, Unsized, Anybody, Nowhere)                                           \
    X(Waitall, waitall, 3, Waiting, Unsized, Anybody, Nowhere)                                     \
    X(Waitany, waitany, 4, Waiting, Unsized, Anybody, Nowhere)                                     \
    X(Waitsome, waitsome, 5, Waiting, Unsized, Anybody, Nowhere)                                   \
    X(Test, test, 3, Waiting, Unsized, Anybody, Nowhere)                                           \
    X(Testall, testall, 4, Waiting, Unsized, Anybody, Nowhere)                                     \
    X(Testany, testany, 5, Waiting, Unsized, Anybody, Nowhere)                                     \
    X(Testsome, testsome, 5, Waiting, Unsized, Anybody, Nowhere)                                   \
    X(Probe, probe, 4, Waiting, Unsized, Anybody, Nowhere)                                         \
    X(Iprobe, iprobe, 5, Waiting, Unsized, Anybody, Nowhere)                                       \
    X(Mprobe, mprobe, 5, Waiting, Unsized, Anybody, Nowhere)                                       \
    X(Improbe, improbe, 6, Waiting, Unsized, Anybody, Nowhere)                                     \
    X(Win_fence, win_fence, 2, OneSided, Unsized, Anybody, Inside<1>)                              \
    X(Win_lock, win_lock, 4, OneSided, Unsized, Anybody, Inside<3>)                                \
    X(Win_unlock, win_unlock, 2, OneSided, Unsized, Anybody, Inside<1>)                            \
    X(Win_lock_all, win_lock_all, 2, OneSided, Unsized, Anybody, Inside<1>)                        \
    X(Win_unlock_all, win_unlock_all, 1, OneSided, Unsized, Anybody, Inside<0>)                    \
    X(Win_flush, win_flush, 2, OneSided, Unsized, Anybody, Inside<1>)                              \
    X(Win_flush_all, win_flush_all, 1, OneSided, Unsized, Anybody, Inside<0>)                      \
    X(Win_flush_local, win_flush_local, 2, OneSided, Unsized, Anybody, Inside<1>)                  \
    X(Win_flush_local_all, win_flush_local_all, 1, OneSided, Unsized, Anybody, Inside<0>)          \
    X(Win_post, win_post, 3, OneSided, Unsized, Anybody, Inside<2>)                                \
    X(Win_start, win_start, 3, OneSided, Unsized, Anybody, Inside<2>)                              \
    X(Win_complete, win_complete, 1, OneSided, Unsized, Anybody, Inside<0>)                        \
    X(Win_wait, win_wait, 1, OneSided, Unsized, Anybody, Inside<0>)                                \
    X(Win_create, win_create, 6, Making, Unsized, Anybody, Within<4>)                              \
    X(Win_allocate, win_allocate, 6, Making, Unsized, Anybody, Within<3>)                          \
    X(Win_allocate_shared, win_allocate_shared, 6, Making, Unsized, Anybody, Within<3>)            \
    X(Win_free, win_free, 1, FreeingWindow, Unsized, Anybody, Nowhere)                             \
    X(Comm_dup, comm_dup, 2, Making, Unsized, Anybody, Within<0>)                                  \
    X(Comm_split, comm_split, 4, Making, Unsized, Anybody, Within<0>)                              \
    X(Comm_create, comm_create, 3, Making, Unsized, Anybody, Within<0>)                            \
    X(Comm_split_type, comm_split_type, 5, Making, Unsized, Anybody, Within<0>)                    \
    X(Cart_create, cart_create, 6, Making, Unsized, Anybody, Within<0>)                            \
    X(Comm_free, comm_free, 1, FreeingCommunicator, Unsized, Anybody, Nowhere)                     \
    X(Comm_disconnect, comm_disconnect, 1, FreeingCommunicator, Unsized, Anybody, Nowhere)

// What Linux requires to be told for a new state of a queue pair, beside the state: the table of
// ib_modify_qp_is_ok, drivers/infiniband/core/verbs.c of Linux 4 to 6. Of what it allows as well,
// the engine tells nothing.
#pragma once

#include <infiniband/verbs.h>

inline int required_for_receiving(ibv_qp_type type) {
    constexpr int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    switch (type) {
        case IBV_QPT_RC:
        case IBV_QPT_XRC_RECV: return connected | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        case IBV_QPT_UC:
        case IBV_QPT_XRC_SEND: return connected;
        default: return 0;
    }
}

inline int required_for_sending(ibv_qp_type type) {
    constexpr int again = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    switch (type) {
        case IBV_QPT_RC:
        case IBV_QPT_XRC_SEND: return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | again;
        case IBV_QPT_XRC_RECV: return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
        default: return IBV_QP_SQ_PSN;
    }
}

inline int required_for(ibv_qp_type type, ibv_qp_state state) {
    const int own = type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    if (state == IBV_QPS_INIT) return IBV_QP_PKEY_INDEX | IBV_QP_PORT | own;
    return state == IBV_QPS_RTR ? required_for_receiving(type) : required_for_sending(type);
}

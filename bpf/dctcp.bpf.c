// SPDX-License-Identifier: GPL-2.0-only OR MIT
// DCTCP (RFC 8257) as a BPF program, for kernels that have neither CONFIG_TCP_CONG_DCTCP nor its module. How to build and load it
// is in docs/src/linux-hosts.md; `make dctcp` does both.
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

/* The kernel's constants are no types, so that vmlinux.h lacks them: linux/include/net/tcp.h. */
#define NEEDS_ECN 2      /* TCP_CONG_NEEDS_ECN: every packet of a connection can be marked */
#define DEMAND_CWR 4     /* TCP_ECN_DEMAND_CWR: acknowledgements echo that congestion was experienced */

/* The share of marked bytes is a fixed-point number of ten bits, and new values weigh a sixteenth (RFC 8257, section 4.2). */
#define ONE 1024
#define GAIN_SHIFT 4

/* Of a connection; the kernel keeps 104 bytes for it. */
struct dctcp {
	u32 delivered;    /* packets delivered when this window began */
	u32 delivered_ce; /* those that were marked */
	u32 window_end;   /* the window ends when this byte is acknowledged */
	u32 received;     /* the next byte expected when the last packet came in */
	u32 alpha;        /* the share of marked packets, of ONE */
	u32 loss_window;  /* the window at the last loss */
	bool is_marked;   /* the last packet that came in was marked */
};

extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

static struct dctcp *state_of(struct sock *sk)
{
	return (struct dctcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static void begin_window(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state_of(sk);

	/* Until something is known, a mark halves the window (RFC 8257, section 4.2). */
	ca->alpha = ONE;
	ca->received = tp->rcv_nxt;
	ca->loss_window = 0;
	ca->is_marked = false;
	begin_window(tp, ca);
}

/* The window after a mark: cwnd (1 - alpha / 2) (RFC 8257, section 3.3), at least two packets. */
static u32 reduced(u32 window, u32 alpha)
{
	u32 less = window - ((window * alpha) >> 11);

	return less < 2 ? 2 : less;
}

SEC("struct_ops/dctcp_ssthresh")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state_of(sk);

	ca->loss_window = tp->snd_cwnd;
	return reduced(tp->snd_cwnd, ca->alpha);
}

/* Once a window: alpha <- (1 - g) alpha + g F, where F is the share of marked packets (RFC 8257, section 3.3). */
SEC("struct_ops/dctcp_in_ack_event")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state_of(sk);
	u32 delivered, marked, alpha;

	/* On a busy machine Linux 6.18 does not run these programs for some milliseconds. If the window is reduced at that time, the
	 * threshold is a random number, and the window would grow until the next mark: reduce it now. */
	if (tp->inet_conn.icsk_ca_state == TCP_CA_CWR && tp->snd_ssthresh > tp->prior_cwnd)
		tp->snd_ssthresh = reduced(tp->prior_cwnd, ca->alpha);

	if ((s32)(tp->snd_una - ca->window_end) < 0)
		return;
	delivered = tp->delivered - ca->delivered;
	marked = tp->delivered_ce - ca->delivered_ce;
	alpha = ca->alpha - (ca->alpha >> GAIN_SHIFT);
	/* Too small to be shifted, it would stay for ever. */
	if (ca->alpha < (1 << GAIN_SHIFT))
		alpha = 0;
	if (marked && delivered)
		alpha += marked * (ONE >> GAIN_SHIFT) / delivered;
	ca->alpha = alpha > ONE ? ONE : alpha;
	begin_window(tp, ca);
}

/* A loss halves the window, as anywhere (RFC 8257, section 3.5). */
static void halve(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 half = tp->snd_cwnd >> 1;

	state_of(sk)->loss_window = tp->snd_cwnd;
	tp->snd_ssthresh = half < 2 ? 2 : half;
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 state)
{
	if (state == TCP_CA_Recovery && state != ((struct inet_connection_sock *)sk)->icsk_ca_state)
		halve(sk);
}

/* The receiver says at once when marks begin and end, so that the sender can count them (RFC 8257, section 3.2). */
static void hear_mark(struct sock *sk, bool is_marked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct dctcp *ca = state_of(sk);

	if (ca->is_marked != is_marked) {
		/* What came in before has the other mark: it is acknowledged first, if that still waits. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER)
			bpf_tcp_send_ack(tp, ca->received);
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->received = tp->rcv_nxt;
	ca->is_marked = is_marked;
	if (is_marked)
		tp->ecn_flags |= DEMAND_CWR;
	else
		tp->ecn_flags &= ~DEMAND_CWR;
}

SEC("struct_ops/dctcp_cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		hear_mark(sk, true);
	else if (event == CA_EVENT_ECN_NO_CE)
		hear_mark(sk, false);
	else if (event == CA_EVENT_LOSS)
		halve(sk);
}

SEC("struct_ops/dctcp_undo_cwnd")
u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	u32 window = ((struct tcp_sock *)sk)->snd_cwnd, before = state_of(sk)->loss_window;

	return window > before ? window : before;
}

SEC("struct_ops/dctcp_cong_avoid")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.flags = NEEDS_ECN,
	.name = "dctcp",
};

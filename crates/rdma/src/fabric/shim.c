// The calls of libfabric that `sys.rs` needs. Most calls of libfabric are inline functions of its headers, which only C can call.
// Unless stated otherwise, a function returns 0 or a count on success, and a negative error number of libfabric on failure.

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct raddle_fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
};

// Closes all handles. Handles that were never opened are null. The endpoint is closed before the objects to which it is bound.
void raddle_fabric_close(struct raddle_fabric *f)
{
	if (f->ep)
		fi_close(&f->ep->fid);
	if (f->av)
		fi_close(&f->av->fid);
	if (f->cq)
		fi_close(&f->cq->fid);
	if (f->domain)
		fi_close(&f->domain->fid);
	if (f->fabric)
		fi_close(&f->fabric->fid);
	if (f->info)
		fi_freeinfo(f->info);
	free(f);
}

// Closes only the endpoint. After this call, libfabric neither reads nor writes local memory.
void raddle_fabric_stop(struct raddle_fabric *f)
{
	if (f->ep)
		fi_close(&f->ep->fid);
	f->ep = NULL;
}

int raddle_fabric_open(const char *provider, const char *node, int by_address, size_t queue, struct raddle_fabric **out)
{
	struct raddle_fabric *f = calloc(1, sizeof(*f));
	struct fi_info *hints = fi_allocinfo();
	int ret = -FI_ENOMEM;

	if (!f || !hints)
		goto out;
	hints->caps = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	if (by_address)
		hints->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	ret = fi_getinfo(FI_VERSION(1, 17), node, NULL, node ? FI_SOURCE : 0, hints, &f->info);
	if (ret)
		goto out;
	ret = fi_fabric(f->info->fabric_attr, &f->fabric, NULL);
	if (ret)
		goto out;
	ret = fi_domain(f->fabric, f->info, &f->domain, NULL);
	if (ret)
		goto out;
	struct fi_av_attr av = { .type = f->info->domain_attr->av_type };
	ret = fi_av_open(f->domain, &av, &f->av, NULL);
	if (ret)
		goto out;
	struct fi_cq_attr cq = { .size = queue, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE };
	ret = fi_cq_open(f->domain, &cq, &f->cq, NULL);
	if (ret)
		goto out;
	ret = fi_endpoint(f->domain, f->info, &f->ep, NULL);
	if (ret)
		goto out;
	ret = fi_ep_bind(f->ep, &f->av->fid, 0);
	if (ret)
		goto out;
	ret = fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV);
	if (ret)
		goto out;
	ret = fi_enable(f->ep);
out:
	if (hints)
		fi_freeinfo(hints);
	if (ret && f)
		raddle_fabric_close(f);
	else
		*out = f;
	return ret;
}

// Writes the name of the chosen provider to `name`, cut to `len` bytes. Returns the full length of the provider's name.
size_t raddle_fabric_provider(const struct raddle_fabric *f, char *name, size_t len)
{
	const char *is = f->info->fabric_attr->prov_name;

	strncpy(name, is, len);
	return strlen(is);
}

size_t raddle_fabric_outstanding(const struct raddle_fabric *f)
{
	return f->info->tx_attr->size;
}

int raddle_fabric_address(struct raddle_fabric *f, void *address, size_t *len)
{
	return fi_getname(&f->ep->fid, address, len);
}

// Returns nonzero if the provider's addresses are strings. Other providers use socket addresses of the system, or a format of their own.
int raddle_fabric_has_string_addresses(const struct raddle_fabric *f)
{
	return f->info->addr_format == FI_ADDR_STR;
}

int raddle_fabric_insert(struct raddle_fabric *f, const void *address, uint64_t *peer)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	int ret = fi_av_insert(f->av, address, 1, &addr, 0, NULL);

	if (ret < 0)
		return ret;
	if (ret != 1 || addr == FI_ADDR_NOTAVAIL)
		return -FI_EADDRNOTAVAIL;
	*peer = addr;
	return 0;
}

// Registers `memory`. `base` receives the address or the offset that a peer must use to write to the first byte.
int raddle_fabric_register(struct raddle_fabric *f, void *memory, size_t len, uint64_t wanted_key, struct fid_mr **mr,
			   uint64_t *base, uint64_t *key)
{
	int ret = fi_mr_reg(f->domain, memory, len, FI_WRITE | FI_REMOTE_WRITE, 0, wanted_key, 0, mr, NULL);

	if (ret)
		return ret;
	*key = fi_mr_key(*mr);
	*base = f->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
	return 0;
}

void raddle_fabric_unregister(struct fid_mr *mr)
{
	fi_close(&mr->fid);
}

ssize_t raddle_fabric_write(struct raddle_fabric *f, const void *memory, size_t len, struct fid_mr *mr, uint64_t peer,
			    uint64_t to, uint64_t key, void *context)
{
	return fi_write(f->ep, memory, len, fi_mr_desc(mr), peer, to, key, context);
}

// Stores the contexts of completed writes in `contexts`, and returns their number, at most `count`. If the next write has failed,
// returns -FI_EAVAIL, and stores the context of this write in `failed` and its error number in `error`.
ssize_t raddle_fabric_poll(struct raddle_fabric *f, void **contexts, size_t count, void **failed, int *error)
{
	ssize_t ret = fi_cq_read(f->cq, contexts, count);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		struct fi_cq_err_entry entry = { 0 };
		ssize_t read = fi_cq_readerr(f->cq, &entry, 0);

		if (read == -FI_EAGAIN)
			return 0;
		if (read < 0)
			return read;
		*failed = entry.op_context;
		*error = entry.err;
	}
	return ret;
}

const char *raddle_fabric_error(int code)
{
	return fi_strerror(code);
}

int raddle_fabric_is_again(ssize_t code)
{
	return code == -FI_EAGAIN;
}

int raddle_fabric_is_failed_write(ssize_t code)
{
	return code == -FI_EAVAIL;
}

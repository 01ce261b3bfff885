/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rental

#if !defined(_TRACE_RENTAL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RENTAL_H

#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(rental_page,

	TP_PROTO(dev_t device, unsigned long ino, unsigned long index),

	TP_ARGS(device, ino, index),

	TP_STRUCT__entry(
		__field(dev_t, device)
		__field(unsigned long, ino)
		__field(unsigned long, index)
	),

	TP_fast_assign(
		__entry->device = device;
		__entry->ino = ino;
		__entry->index = index;
	),

	TP_printk("dev %d:%d ino %lx ofs=%lu",
		  MAJOR(__entry->device), MINOR(__entry->device), __entry->ino,
		  __entry->index << PAGE_SHIFT)
);

/* A page was copied to rented memory. */
DEFINE_EVENT(rental_page, rental_store,
	TP_PROTO(dev_t device, unsigned long ino, unsigned long index),
	TP_ARGS(device, ino, index)
);

/* A page was copied from rented memory instead of being read. */
DEFINE_EVENT(rental_page, rental_take,
	TP_PROTO(dev_t device, unsigned long ino, unsigned long index),
	TP_ARGS(device, ino, index)
);

/* A page was read where it is in rented memory. */
DEFINE_EVENT(rental_page, rental_read,
	TP_PROTO(dev_t device, unsigned long ino, unsigned long index),
	TP_ARGS(device, ino, index)
);

/* Memory was given back to its device. */
TRACE_EVENT(rental_return,

	TP_PROTO(const char *region, size_t offset, size_t size, u64 ns),

	TP_ARGS(region, offset, size, ns),

	TP_STRUCT__entry(
		__string(region, region)
		__field(size_t, offset)
		__field(size_t, size)
		__field(u64, ns)
	),

	TP_fast_assign(
		__assign_str(region);
		__entry->offset = offset;
		__entry->size = size;
		__entry->ns = ns;
	),

	TP_printk("region=%s offset=%zu size=%zu ns=%llu", __get_str(region),
		  __entry->offset, __entry->size, __entry->ns)
);

#endif /* _TRACE_RENTAL_H */

#include <trace/define_trace.h>

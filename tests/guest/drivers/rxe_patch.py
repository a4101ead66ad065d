"""Makes a copy of the kernel's rxe (drivers/infiniband/sw/rxe, 6.12 or later) take dma-bufs. For tests only.

No software NIC of the kernel takes them. This one attaches to a dma-buf through a platform device of its own, and reaches its
pages by the CPU; what has no pages is refused. What the kernel checks before it asks a driver is the kernel's own.
"""
import pathlib
import re

REGION = """
/* Attached through a device of its own: rxe has none that does DMA. */
static struct platform_device *rxe_dma_device;

int rxe_mr_init_dmabuf(struct rxe_dev *rxe, u64 offset, u64 length, u64 iova, int fd, int access, struct rxe_mr *mr)
{
	struct ib_umem_dmabuf *buf;
	struct sg_page_iter pages;
	unsigned long i, count;
	int err = 0;

	if (!rxe_dma_device) {
		struct platform_device *made = platform_device_register_simple("rxe-dmabuf", PLATFORM_DEVID_AUTO, NULL, 0);

		if (IS_ERR(made))
			return PTR_ERR(made);
		dma_set_mask_and_coherent(&made->dev, DMA_BIT_MASK(64));
		rxe_dma_device = made;
	}
	rxe_mr_init(access, mr);
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	PREPARE
	buf = ib_umem_dmabuf_get_pinned_with_dma_device(&rxe->ib_dev, &rxe_dma_device->dev, offset, length, fd, access);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	count = ib_umem_num_pages(&buf->umem);
	ALLOCATE
	__sg_page_iter_start(&pages, buf->sgt->sgl, buf->sgt->orig_nents, offset >> PAGE_SHIFT);
	for (i = 0; i < count && !err; i++) {
		struct page *page = __sg_page_iter_next(&pages) ? sg_page_iter_page(&pages) : NULL;

		if (!page)
			err = -EOPNOTSUPP;
		else
			STORE
	}
	if (err) {
		FREE
		ib_umem_release(&buf->umem);
		return err;
	}
	mr->umem = &buf->umem;
	mr->ibmr.type = IB_MR_TYPE_USER;
	mr->state = RXE_MR_STATE_VALID;
	return 0;
}

void rxe_dmabuf_exit(void)
{
	platform_device_unregister(rxe_dma_device);
}
"""
PAGE_LIST = {  # until 6.18 or so
    "PREPARE": "xa_init(&mr->page_list);",
    "ALLOCATE": "",
    "STORE": "err = xa_err(xa_store(&mr->page_list, i, page, GFP_KERNEL));",
    "FREE": "",
}
PAGE_INFO = {
    "PREPARE": "",
    "ALLOCATE": "err = alloc_mr_page_info(mr, count);\n\tif (err) {\n\t\tib_umem_release(&buf->umem);\n\t\treturn err;\n\t}",
    "STORE": "{\n\t\t\tmr->page_info[mr->nbuf].page = page;\n\t\t\tmr->page_info[mr->nbuf++].offset = 0;\n\t\t}",
    "FREE": "free_mr_page_info(mr);",
}
DECLARATION = "int rxe_mr_init_dmabuf(struct rxe_dev *rxe, u64 offset, u64 length, u64 iova, int fd, int access, struct rxe_mr *mr);\n"


class Changed(Exception):
    """The kernel's source is not what this was written for."""


def substitute(pattern, replacement, text):
    made, times = re.subn(pattern, lambda match: match.expand(replacement) if isinstance(replacement, str) else replacement(match), text, count=1, flags=re.S)
    if times != 1:
        raise Changed(f"rxe has no {pattern!r} any more")
    return made


def edit(file, *changes):
    text = file.read_text(encoding="utf-8")
    for pattern, replacement in changes:
        text = substitute(pattern, replacement, text)
    file.write_text(text, encoding="utf-8")


def dma_buf_call(match):
    """The call for memory, and behind it one made of it for dma-bufs."""
    call = match.group(0)
    call = substitute(r"rxe_reg_user_mr\(", "rxe_reg_user_mr_dmabuf(", call)
    call = substitute(r"u64 length, u64 iova, int access,", "u64 length, u64 iova, int fd, int access,", call)
    call = substitute(r"struct ib_udata \*udata\)", "struct uverbs_attr_bundle *attrs)", call)
    call = re.sub(r"\tif \(access & IB_ACCESS_ON_DEMAND\)\n.*?\n\telse\n\t", "", call, flags=re.S)
    call = substitute(r"rxe_mr_init_user\(rxe, start, length, access, mr\)", "rxe_mr_init_dmabuf(rxe, start, length, iova, fd, access, mr)", call)
    return match.group(0) + "\n" + call


def patch(folder):
    folder = pathlib.Path(folder)
    region = REGION
    for word, code in (PAGE_INFO if "page_info" in (folder / "rxe_mr.c").read_text(encoding="utf-8") else PAGE_LIST).items():
        region = region.replace(word, code)
    edit(folder / "rxe_loc.h", (r"int rxe_mr_init_user\(", DECLARATION + "int rxe_mr_init_user("))
    edit(folder / "rxe_mr.c",
         (r'#include "rxe.h"', '#include <linux/platform_device.h>\n#include <linux/dma-mapping.h>\n#include "rxe.h"'),
         (r"\nint rxe_mr_init_user\(.*?\n}\n", lambda match: match.group(0) + region))
    edit(folder / "rxe_verbs.c",
         (r"static struct ib_mr \*rxe_reg_user_mr\(.*?\n}\n", dma_buf_call),
         (r"\t\.reg_user_mr = rxe_reg_user_mr,", "\t.reg_user_mr = rxe_reg_user_mr,\n\t.reg_user_mr_dmabuf = rxe_reg_user_mr_dmabuf,"))
    edit(folder / "rxe.c", (r"static void __exit rxe_module_exit\(void\)\n\{\n", "void rxe_dmabuf_exit(void);\n\\g<0>\trxe_dmabuf_exit();\n"))
    # No prototype of it is in a header of the kernel's.
    edit(folder / "rxe_mr.c", (r"\nvoid rxe_dmabuf_exit\(void\)\n", "\nvoid rxe_dmabuf_exit(void);\nvoid rxe_dmabuf_exit(void)\n"))

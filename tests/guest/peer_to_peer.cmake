# One NVMe drive's controller memory as slots, which another device's DMA engine reaches or does not: each machine has
# the two at other places. What they answer was measured with QEMU 7.2 and 10.0 on Linux 7.3.

set(one_switch
  -device pcie-root-port,id=root,chassis=1 -device x3130-upstream,id=switch,bus=root
  -device xio3130-downstream,id=port0,bus=switch,chassis=2,slot=0
  -device xio3130-downstream,id=port1,bus=switch,chassis=3,slot=1)
set(two_root_ports
  -device pcie-root-port,id=port0,chassis=1,slot=1 -device pcie-root-port,id=port1,chassis=2,slot=2)
set(two_host_bridges
  -device pxb-pcie,id=bridge0,bus_nr=64,bus=pcie.0 -device pxb-pcie,id=bridge1,bus_nr=96,bus=pcie.0
  -device pcie-root-port,id=port0,bus=bridge0,chassis=1,slot=1
  -device pcie-root-port,id=port1,bus=bridge1,chassis=2,slot=2)
set(drives
  -device nvme,serial=publisher,drive=publisher,cmb_size_mb=512,bus=port0
  -device nvme,serial=engine,drive=engine,bus=port1)
set(small_drives ${drives})
list(TRANSFORM small_drives REPLACE cmb_size_mb=512 cmb_size_mb=64)
set(two_drives MODULES nvme DRIVES publisher=16 engine=16)
set(translating KERNEL_WORDS intel_iommu=on)

set(slots "--slots 4 --bytes 1M")
set(verify "$<TARGET_FILE:rdmagpu_cli> verify ${slots}")
set(expect ${setup}/expect.sh)

# A NIC in software, which copies by the CPU and cannot pin such memory.
set(p2p_nic_modules)
set(p2p_nic_steps)
if(TARGET rdmagpu_verbs)
  set(p2p_nic_modules ib_uverbs rdma_rxe dummy)
  set(p2p_nic_steps
    "${setup}/soft_roce.sh"
    "${expect} 1 'ibv_reg_mr failed: EFAULT' 'hint: ' -- ${verify} --api pci-p2p --peer verbs:rxe0")
endif()

# Slots written and read by the engine, byte for byte, and through bus addresses of the publisher's memory.
rdmagpu_guest_test(p2p_switch KERNEL p2pdma MODULES nvme virtio_blk ${p2p_nic_modules} DRIVES publisher=16 engine=16 virtual=16
  DEVICES ${one_switch} ${drives} -device virtio-blk-pci,drive=virtual
  TRACES pci_nvme_map_addr CHECK "${CMAKE_CURRENT_SOURCE_DIR}/bus_addresses.py 1024" # all of the slots
  STEPS
    "${setup}/p2pmem.sh"
    "${expect} 0 'write     proven' 'read      not-tried' 'written by a device' -- ${verify} --api pci-p2p --peer block:/dev/engine"
    "cmp /dev/engine /before" # read it was, and no more
    "${expect} 0 'write     proven' 'read      proven' 'written, read by a device' -- ${verify} --api pci-p2p --gpu \$(cat /publisher) --peer block:/dev/engine --overwrite"
    "${expect} 1 EREMOTEIO virtio-blk not-tried -- ${verify} --api pci-p2p --peer block:/dev/vda --overwrite"
    "${expect} 0 'by a device' -- ${verify} --api host --peer block:/dev/engine --overwrite"
    "${expect} 0 0000: '\"p2pmem_bytes\": 536870912' -- $<TARGET_FILE:rdmagpu_cli> alloc --api pci-p2p --slots 2 --json"
    "$<TARGET_FILE:pci_p2p_device_test> --gtest_filter=-DriveInUse.*"
    "RDMAGPU_TEST_DRIVE=/dev/engine $<TARGET_FILE:pci_p2p_device_test> --gtest_filter=DriveInUse.*"
    "$<TARGET_FILE:buffer_test> --gtest_filter=*Auto*"
    ${p2p_nic_steps})

# A host bridge that the kernel does not trust. The publisher reaches its own memory all the same.
rdmagpu_guest_test(p2p_root_ports KERNEL p2pdma ${two_drives} DEVICES ${two_root_ports} ${small_drives} STEPS
  "${setup}/p2pmem.sh"
  "${expect} 1 EINVAL 'under one PCIe switch' not-tried -- ${verify} --api pci-p2p --peer block:/dev/engine"
  "${expect} 1 EINVAL 'under one PCIe switch' not-tried -- ${verify} --api pci-p2p --peer block:/dev/engine --overwrite"
  "${expect} 0 'written, read by a device' -- ${verify} --api pci-p2p --peer block:/dev/publisher --overwrite"
  "${expect} 0 'by a device' -- ${verify} --api host --peer block:/dev/engine --overwrite")

# Every call succeeds, and nothing arrives: the switch sends the request up to an IOMMU that knows nothing of it.
rdmagpu_guest_test(p2p_lost KERNEL p2pdma ${two_drives} ${translating}
  DEVICES -device intel-iommu,intremap=off ${one_switch} ${small_drives} STEPS
  "${setup}/p2pmem.sh"
  "${expect} 1 'write     failed' 'nothing arrived, although the peer reported success' iommu=pt -- ${verify} --api pci-p2p --peer block:/dev/engine"
  "${expect} 1 'write     failed' 'read      failed' -- ${verify} --api pci-p2p --peer block:/dev/engine --overwrite"
  "${expect} 0 'DMAR' -- dmesg"
  "${expect} 0 'by a device' -- ${verify} --api host --peer block:/dev/engine --overwrite")

# A processor whose host bridges the kernel trusts, with the drives on two of them, through a translating IOMMU.
rdmagpu_guest_test(p2p_host_bridges KERNEL p2pdma CPU EPYC ${two_drives} ${translating}
  DEVICES -device intel-iommu,intremap=off ${two_host_bridges} ${small_drives} STEPS
  "${setup}/p2pmem.sh"
  "${expect} 0 'written, read by a device' -- ${verify} --api pci-p2p --peer block:/dev/engine --overwrite")

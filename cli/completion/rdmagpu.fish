# Completion of rdmagpu for fish. Every option of --help is here: tests/cli/program/documents_test.py looks.

function __rdmagpu_needs_command
    not __fish_seen_subcommand_from list doctor alloc stream verify
end

complete -c rdmagpu -f
complete -c rdmagpu -n __rdmagpu_needs_command -a list -d 'List the backends of this build'
complete -c rdmagpu -n __rdmagpu_needs_command -a doctor -d 'Say which devices reach a GPU\'s memory here'
complete -c rdmagpu -n __rdmagpu_needs_command -a alloc -d 'Allocate slots and print their handoffs and facts'
complete -c rdmagpu -n __rdmagpu_needs_command -a stream -d 'Move real frames through slots, checked'
complete -c rdmagpu -n __rdmagpu_needs_command -a verify -d 'Prove that a peer\'s writes arrive'
complete -c rdmagpu -n __rdmagpu_needs_command -l version -d 'Print the version and exit'
complete -c rdmagpu -s h -l help -d 'Print help and exit'
complete -c rdmagpu -n '__fish_seen_subcommand_from list doctor alloc stream verify' -l json -d 'Print one JSON object'

set -l doctor '__fish_seen_subcommand_from doctor'
complete -c rdmagpu -n $doctor -l root -x -a '(__fish_complete_directories)' -d 'Examine the machine whose files are in this folder'
complete -c rdmagpu -n $doctor -l gpu -x -d 'Only this GPU, by PCI address'
complete -c rdmagpu -n $doctor -l peer -x -d 'Only this peer'
complete -c rdmagpu -n $doctor -l try -d 'Also try what takes memory of a GPU'
complete -c rdmagpu -n $doctor -l explain -x -d 'Explain an error instead'

set -l slots '__fish_seen_subcommand_from alloc stream verify'
complete -c rdmagpu -n $slots -l api -x -a 'auto host cuda vulkan vulkan-dmabuf d3d12 hip level-zero pci-p2p' -d 'What allocates the slots'
complete -c rdmagpu -n $slots -l slots -x -d 'How many slots'
complete -c rdmagpu -n $slots -l bytes -x -d 'Bytes of one slot or raw frame'
complete -c rdmagpu -n $slots -l gpu -x -d 'Which GPU, by number or PCI address'
complete -c rdmagpu -n $slots -l cuda-memory -x -a 'auto vmm mem-alloc' -d 'How memory of CUDA is allocated'

set -l pin '__fish_seen_subcommand_from alloc stream'
complete -c rdmagpu -n $pin -l pin-gpu -x -a 'off try require' -d 'Pin host pages for a GPU'

set -l alloc '__fish_seen_subcommand_from alloc'
complete -c rdmagpu -n $alloc -l peer-pci -x -d 'Where the peer is on the PCI bus'
complete -c rdmagpu -n $alloc -l zero -d 'Hand the slots out cleared'
complete -c rdmagpu -n $alloc -l scrub -d 'Overwrite the slots before they are given back'
complete -c rdmagpu -n $alloc -l ignore-budget -d 'Try even if more is asked than is free'
complete -c rdmagpu -n $alloc -l lock -x -a 'try require off' -d 'Lock the pages into memory'
complete -c rdmagpu -n $alloc -l huge-pages -x -a 'off try require' -d 'Use 2 MiB pages'
complete -c rdmagpu -n $alloc -l node -x -d 'NUMA node'
complete -c rdmagpu -n $alloc -l no-memfd -d 'Use anonymous pages'
complete -c rdmagpu -n $alloc -l export -d 'Export all slots as one dma-buf'
complete -c rdmagpu -n $alloc -l pcie-mapping -x -a 'off try require' -d 'Map the export through PCIe'
complete -c rdmagpu -n $alloc -l all -d 'List every slot'
complete -c rdmagpu -n $alloc -l hold -d 'Keep the slots until a signal'

set -l stream '__fish_seen_subcommand_from stream'
complete -c rdmagpu -n $stream -F
complete -c rdmagpu -n $stream -l pix -x -a 'uyvy422 yuyv422 v210 nv12 p010le yuv420p yuv422p yuv422p10le bgra rgba rgb24 gray' -d 'Pixel format of raw frames'
complete -c rdmagpu -n $stream -l size -x -a '1280x720 1920x1080 3840x2160' -d 'Size of raw frames'
complete -c rdmagpu -n $stream -l frames -x -d 'Stop after so many frames'
complete -c rdmagpu -n $stream -l preload -d 'Read the whole input into memory first'
complete -c rdmagpu -n $stream -l loop -d 'Start again at the end'
complete -c rdmagpu -n $stream -l playout -d 'The program fills the slots and the peer reads'
complete -c rdmagpu -n $stream -l staged -d 'Host slots for the peer, and copies in between'
complete -c rdmagpu -n $stream -l proof -d 'Prove every frame by canaries'
complete -c rdmagpu -n $stream -l rate -x -a 'max input 25 29.97 50 59.94 60' -d 'The peer\'s clock'
complete -c rdmagpu -n $stream -l mode -x -a 'fifo newest' -d 'Which frame the reader gets'
complete -c rdmagpu -n $stream -l peer -x -a 'software v4l2:/dev/video0' -d 'The device on the other side'
complete -c rdmagpu -n $stream -l check -x -a 'all sample:30 none' -d 'Which frames are compared'
complete -c rdmagpu -n $stream -l out -r -F -d 'Write the frames to this file'

set -l verify '__fish_seen_subcommand_from verify'
complete -c rdmagpu -n $verify -l peer -x -a 'software block:/dev/nvme0n1 cufile:' -d 'The device on the other side'
complete -c rdmagpu -n $verify -l overwrite -d 'Let the block device be overwritten'
complete -c rdmagpu -n $verify -l gid -x -d 'Entry of the NIC\'s table of GIDs'
complete -c rdmagpu -n $verify -l to -x -d 'The host where verify --listen waits'
complete -c rdmagpu -n $verify -l listen -d 'Serve one verify --to of another host'

# Completion of rdmagpu for bash. Every option of --help is here: tests/cli/program/documents_test.py looks.

_rdmagpu() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
    list | doctor | alloc | stream | verify)
      command=$word
      break
      ;;
    esac
  done

  local apis="auto host cuda vulkan vulkan-dmabuf d3d12 hip level-zero pci-p2p"
  case $previous in
  --api) COMPREPLY=($(compgen -W "$apis" -- "$current")) && return ;;
  --lock) COMPREPLY=($(compgen -W "try require off" -- "$current")) && return ;;
  --huge-pages | --pin-gpu | --pcie-mapping) COMPREPLY=($(compgen -W "off try require" -- "$current")) && return ;;
  --cuda-memory) COMPREPLY=($(compgen -W "auto vmm mem-alloc" -- "$current")) && return ;;
  --pix)
    COMPREPLY=($(compgen -W "uyvy422 yuyv422 v210 nv12 p010le yuv420p yuv422p yuv422p10le bgra rgba rgb24 gray" \
      -- "$current")) && return
    ;;
  --size) COMPREPLY=($(compgen -W "1280x720 1920x1080 3840x2160" -- "$current")) && return ;;
  --rate) COMPREPLY=($(compgen -W "max input 25 29.97 50 59.94 60" -- "$current")) && return ;;
  --mode) COMPREPLY=($(compgen -W "fifo newest" -- "$current")) && return ;;
  --check) COMPREPLY=($(compgen -W "all sample:30 none" -- "$current")) && return ;;
  --peer)
    local peers=software device
    if [[ $command == doctor ]]; then
      COMPREPLY=($(compgen -W "$(ls /sys/class/infiniband 2>/dev/null)" -- "$current"))
      return
    fi
    if [[ $command == verify ]]; then
      for device in /sys/class/infiniband/*; do
        [[ -e $device ]] && peers+=" verbs:${device##*/}"
      done
    fi
    COMPREPLY=($(compgen -W "$peers" -- "$current")) && return
    ;;
  --out)
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
    return
    ;;
  --root)
    compopt -o filenames
    COMPREPLY=($(compgen -d -- "$current"))
    return
    ;;
  --explain | --slots | --bytes | --gpu | --peer-pci | --node | --frames | --gid | --to) return ;;
  esac

  local options
  case $command in
  list) options="--help --json" ;;
  doctor) options="--help --root --gpu --peer --try --explain --json" ;;
  alloc)
    options="--help --api --slots --bytes --gpu --cuda-memory --peer-pci --zero --scrub --ignore-budget --lock
      --huge-pages --node --pin-gpu --no-memfd --export --pcie-mapping --all --hold --json"
    ;;
  stream)
    options="--help --pix --size --bytes --frames --preload --loop --api --slots --gpu --cuda-memory --pin-gpu
      --playout --staged --proof --rate --mode --peer --check --out --json"
    ;;
  verify) options="--help --peer --overwrite --gid --to --listen --api --slots --bytes --gpu --cuda-memory --json" ;;
  *) options="--help --version list doctor alloc stream verify" ;;
  esac
  if [[ $command == stream && $current != -* ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$options" -- "$current"))
}

complete -F _rdmagpu rdmagpu

# Sourced by tools/podsim and tools/test: packages, configuration and build, quiet where nothing is to be done.
# Sets $root (the checkout) and $build. PODSIM_BUILD_DIR puts the build elsewhere; PODSIM_CMAKE_OPTIONS are more
# options for cmake.

root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/tools/setup.sh}
build=${PODSIM_BUILD_DIR:-$root/build}

build_packages=(g++ cmake ninja-build pkg-config libsimgrid-dev libboost-dev libhdf5-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libonnx-dev libprotobuf-dev protobuf-compiler)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3-h5py python3-matplotlib
  python3-pandas python3-xarray python3-h5netcdf python3-plotly clang-format-14
  openmpi-bin)

say() { printf 'podsim: %s\n' "$*" >&2; }

# Runs a command with its output in a log; on failure shows the end of the log.
logged() {
  local log=$1 status=0
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then tail -n 25 "$log" >&2; fi
  return "$status"
}

# install_missing PACKAGE…: those of them that are not installed, from Debian's archive.
install_missing() {
  local package missing=() installed prefix=()
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian system: if the build fails, install what these Debian packages hold: $*"
    return 0
  fi
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package; do
    grep -qx "installed $package" <<<"$installed" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
      prefix=(sudo)
    else
      say "these Debian packages are missing, and only root or sudo may install them:"
      printf '  apt-get install %s\n' "${missing[*]}" >&2
      return 1
    fi
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  prefix+=(env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes LC_ALL=C.UTF-8
    apt-get -qq -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  # The package lists may be absent or older than the archive: then one update, and again.
  if ! "${prefix[@]}" install --no-install-recommends "${missing[@]}" >"$build/apt.log" 2>&1 </dev/null; then
    logged "$build/apt.log" "${prefix[@]}" update &&
      logged "$build/apt.log" "${prefix[@]}" install --no-install-recommends "${missing[@]}" || {
      say "the packages could not be installed; by hand: apt-get install ${missing[*]}"
      return 1
    }
  fi
}

# Compilers at a time: one per core, and a GiB of memory for each.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
  if ((memory < cores)); then cores=$memory; fi
  echo "$((cores > 0 ? cores : 1))"
}

# is_current STAMP: the build of this checkout is newer than every source. A stamp holds the checkout's path.
is_current() {
  local built_root=
  [[ -f $1 ]] && read -r built_root <"$1" && [[ $built_root == "$root" ]] || return 1
  [[ -z $(find "$root"/{CMakeLists.txt,simulator,topology,workloads,schedules,tools/cmake} "${@:2}" -newer "$1" \
    -print -quit) ]]
}

# build_target STAMP TARGET CMAKE_OPTIONS…: configures and builds, one process at a time.
build_target() {
  local stamp=$1 target=$2
  shift 2
  printf '%s\n' "$root" >"$stamp.new" # as old as the sources that the build sees
  # A build folder that was copied or moved with its checkout knows the old path.
  local fresh=()
  if [[ -f $build/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  if [[ -f $stamp ]]; then say "building what changed"; else say "building in $build (the first time takes minutes)"; fi
  # shellcheck disable=SC2086 # PODSIM_CMAKE_OPTIONS is a list
  logged "$build/configure.log" cmake "${fresh[@]}" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" \
    ${PODSIM_CMAKE_OPTIONS:-} || return 1
  if [[ -t 2 ]]; then
    cmake --build "$build" --target "$target" -j "$(jobs)" >&2 </dev/null || return 1
  else
    logged "$build/build.log" cmake --build "$build" --target "$target" -j "$(jobs)" || return 1
  fi
  mv "$stamp.new" "$stamp"
}

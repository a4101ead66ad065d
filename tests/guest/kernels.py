"""The distribution's kernels: resolved by name from their suites, downloaded and unpacked into a folder.

apt is used with sources, lists and caches of its own, so nothing of another suite reaches the machine's apt.
Three kernels are known: "stable" is the one of the machine's own release, "newest" that of its backports on
Debian, and on Ubuntu, which has none, the same as "stable". "p2pdma" is one with CONFIG_PCI_P2PDMA, which
Debian sets from the backports of trixie on: those of trixie on a bookworm, else the same as "newest".
"""
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess

from unavailable import Unavailable

CHOICES = ("stable", "newest", "p2pdma")
# A kernel is one package or several, whatever its version: these of what the suite's own package depends on.
PART = re.compile(r"linux-(image|binary|modules|modules-extra|base)(-unsigned)?-[0-9]")
META_PACKAGE = {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic"}
ARCHIVE = {"debian": "http://deb.debian.org/debian", "ubuntu": "http://archive.ubuntu.com/ubuntu"}
LIMIT_S = 300


@dataclasses.dataclass(frozen=True)
class Kernel:
    release: str  # as uname -r says it
    image: str
    base: str  # the folder that holds lib/modules
    packages: str  # "name version", comma separated


def distribution(os_release="/etc/os-release"):
    text = pathlib.Path(os_release).read_text(encoding="utf-8")
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.M))
    name, codename = values.get("ID"), values.get("VERSION_CODENAME")
    if name not in META_PACKAGE or not codename:
        raise Unavailable(f"the kernels of this distribution ({name} {codename}) are not known, those of Debian and Ubuntu are")
    return name, codename


def suites(choice, name, codename):
    if name == "ubuntu":
        return [codename, f"{codename}-updates"]
    if choice == "p2pdma" and codename == "bookworm":
        codename = "trixie"
    return [codename] if choice == "stable" else [f"{codename}-backports"]


def call(command, why):
    """The standard output of a command; Unavailable with `why` and the last line of its complaint when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Unavailable(f"{why}: there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{why}: no answer in {LIMIT_S} s") from None
    if done.returncode != 0:
        complaint = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Unavailable(f"{why}: {complaint[0]}")
    return done.stdout


class PrivateApt:
    """apt-get and apt-cache that know these suites and nothing else of the machine but where its mirror is."""

    def __init__(self, folder, name, codename, wanted):
        self.suites = " ".join(wanted)
        for part in ("lists/partial", "archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        keyring = f"/usr/share/keyrings/{name}-archive-keyring.gpg"
        lines = [f"deb [arch=amd64 signed-by={keyring}] {mirror(name, codename)} {suite} main\n" for suite in wanted]
        (folder / "sources.list").write_text("".join(lines), encoding="utf-8")
        (folder / "status").touch()
        settings = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State": folder,
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder,
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
            "APT::Update::Error-Mode": "any",
            "APT::Update::Post-Invoke-Success": "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "Acquire::http::Timeout": "20",
        }
        self.options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def update(self):
        call(["apt-get", *self.options, "-qq", "update"], f"the lists of {self.suites} cannot be downloaded")

    def download(self, packages, folder):
        command = ["apt-get", *self.options, "-qq", "download", *packages]
        call(["env", "-C", str(folder), *command], f"the kernel of {self.suites} cannot be downloaded")

    def fields(self, package):
        """Version and dependencies of the suite's newest package of that name; None where there is none."""
        done = subprocess.run(["apt-cache", *self.options, "show", "--no-all-versions", package], capture_output=True, text=True)
        values = dict(re.findall(r"^(Version|Depends): (.*)$", done.stdout, re.M))
        depends = [re.split(r"[ :(|]", item.strip())[0] for item in values.get("Depends", "").split(",")]
        return (values["Version"], depends) if "Version" in values else None


def mirror(name, codename):
    """Where the machine's own apt gets its release from."""
    targets = call(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"], "apt's sources cannot be read")
    for line in targets.splitlines():
        uri, _, suite = line.partition(" ")
        if suite == codename:
            return uri
    return ARCHIVE[name]


def parts(apt, meta):
    """The packages that the suite's kernel is made of now, each with its version."""
    found, waiting = {}, [meta]
    while waiting:
        package = waiting.pop()
        known = apt.fields(package)
        if known is None:
            if package == meta:
                raise Unavailable(f"{apt.suites} has no package {meta}")
            continue
        version, depends = known
        if package != meta:
            found[package] = version
        waiting += [d for d in depends if PART.match(d) and d not in found]
    if not found:
        raise Unavailable(f"{meta} of {apt.suites} names no kernel")
    return dict(sorted(found.items()))


def unpack(archives, folder):
    """Unpacks the packages and lists the modules' dependencies."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for archive in archives:
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    base = folder / "usr" if (folder / "usr/lib/modules").is_dir() else folder
    releases = sorted(path.name for path in (base / "lib/modules").glob("*"))
    images = sorted(folder.rglob("vmlinuz*"))
    if len(releases) != 1 or not images:
        raise Unavailable(f"the packages {', '.join(a.name for a in archives)} hold {len(releases)} kernels and {len(images)} images")
    call(["depmod", "-b", str(base), releases[0]], "the kernel's modules cannot be listed")
    return base, releases[0], images[0]


def fetch(choice, cache, os_release="/etc/os-release"):
    """Makes the kernel that the suite has now ready in `cache`. Returns it, and a note or "".

    Where the suite cannot be reached, one that was made ready before is used, and the note says so.
    """
    folder = cache / choice
    try:
        name, codename = distribution(os_release)
        apt = PrivateApt(cache / "apt" / choice, name, codename, suites(choice, name, codename))
        apt.update()
        packages = parts(apt, META_PACKAGE[name])
        wanted = ", ".join(f"{package} {version}" for package, version in packages.items())
        for made in (ready(other, cache) for other in CHOICES):
            if made and made.packages == wanted:
                return keep(made, folder), ""
        downloads = folder / "packages"
        shutil.rmtree(downloads, ignore_errors=True)
        downloads.mkdir(parents=True)
        apt.download(packages, downloads)
        (folder / "kernel.json").unlink(missing_ok=True)
        base, release, image = unpack(sorted(downloads.glob("*.deb")), folder / "root")
        shutil.rmtree(downloads)
        return keep(Kernel(release, str(image), str(base), wanted), folder), ""
    except Unavailable as problem:
        if kernel := ready(choice, cache):
            return kernel, f"an earlier download: {problem}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "problem").write_text(str(problem), encoding="utf-8")
        raise


def keep(kernel, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.json").write_text(json.dumps(dataclasses.asdict(kernel), indent=1), encoding="utf-8")
    (folder / "problem").unlink(missing_ok=True)
    return kernel


def ready(choice, cache):
    """The kernel that fetch() made ready, or None."""
    file = cache / choice / "kernel.json"
    if not file.exists():
        return None
    kernel = Kernel(**json.loads(file.read_text(encoding="utf-8")))
    return kernel if pathlib.Path(kernel.image).exists() else None  # the folder may have been moved


def required(choice, cache):
    """The kernel that fetch() made ready; Unavailable with what fetch() had to say."""
    kernel = ready(choice, cache)
    if kernel:
        return kernel
    problem = cache / choice / "problem"
    reason = problem.read_text(encoding="utf-8") if problem.exists() else "it was not fetched"
    raise Unavailable(f"no {choice} kernel: {reason}")

#include "fabricgauge/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace fabricgauge {

namespace {

[[noreturn]] void fail(const std::string& name) {
    throw OutputError(errno, std::generic_category(), "cannot write the records to " + name);
}

}  // namespace

Output::Output(const std::string& path)
    : name_(path.empty() ? "standard output" : path),
      descriptor_(path.empty() ? STDOUT_FILENO
                               : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
      owned_(!path.empty()) {
    if (descriptor_ < 0) fail(name_);
}

Output::~Output() {
    if (owned_) close(descriptor_);
}

void Output::line(const std::string& record) {
    const std::string text = record + '\n';
    const off_t begin = lseek(descriptor_, 0, SEEK_CUR);  // -1 for a pipe
    writing_ = true;
    const bool whole = write_now(text.data(), text.size());
    const int error = errno;
    if (!whole && begin >= 0 && ftruncate(descriptor_, begin) == 0)
        lseek(descriptor_, begin, SEEK_SET);
    writing_ = false;
    errno = error;
    if (!whole) fail(name_);
}

std::string Output::hangs() const {
    return "fabricgauge-engine: the records cannot be written to " + name_ +
           ": its file system or its reader takes nothing any more\n";
}

// One call where the kernel takes all at once.
bool Output::write_now(const char* text, std::size_t length) const noexcept {
    for (std::size_t written = 0; written < length;) {
        const ssize_t count = write(descriptor_, text + written, length - written);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) written += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace fabricgauge

#include "fabricgauge/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace fabricgauge {

namespace {

[[noreturn]] void fail(const std::string& name) {
    throw std::system_error(errno, std::generic_category(), "cannot write the records to " + name);
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
    for (std::size_t written = 0; written < text.size();) {
        const ssize_t count = write(descriptor_, text.data() + written, text.size() - written);
        if (count < 0 && errno != EINTR) fail(name_);
        if (count > 0) written += static_cast<std::size_t>(count);
    }
}

}  // namespace fabricgauge

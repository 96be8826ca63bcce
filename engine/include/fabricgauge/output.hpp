// The output of records: each is one line, passed to the kernel as soon as it is complete.
#pragma once

#include <atomic>
#include <string>
#include <system_error>

namespace fabricgauge {

// Names the file.
class OutputError : public std::system_error {
public:
    using std::system_error::system_error;
};

class Output {
public:
    // An empty path means standard output. Throws OutputError if the file cannot be written.
    explicit Output(const std::string& path);
    ~Output();
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    // Throws OutputError if not all could be written; a file then keeps nothing of it.
    void line(const std::string& record);

    // The message for a line that takes far too long.
    std::string hangs() const;

    // For a signal handler. True while a line is being written; nothing may be added to it.
    bool is_writing() const noexcept { return writing_; }
    // Write a complete line; return true if all could be written.
    bool write_now(const char* text, std::size_t length) const noexcept;

private:
    std::atomic<bool> writing_ = false;
    std::string name_;
    int descriptor_;
    bool owned_;
};

}  // namespace fabricgauge

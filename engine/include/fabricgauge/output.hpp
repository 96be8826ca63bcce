// Where the records go: each is one line, handed to the kernel as soon as it is complete.
#pragma once

#include <string>

namespace fabricgauge {

class Output {
public:
    // An empty path means standard output. Throws std::system_error if the file cannot be written.
    explicit Output(const std::string& path);
    ~Output();
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    // Throws std::system_error, with the file's name, if not all could be written.
    void line(const std::string& record);

private:
    std::string name_;
    int descriptor_;
    bool owned_;
};

}  // namespace fabricgauge

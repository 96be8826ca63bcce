#include "fabricgauge/rdma_ports.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fabricgauge/number.hpp"

namespace fabricgauge {

namespace {

namespace fs = std::filesystem;

// Empty where it cannot be read: the kernel refuses to read types of entries that are not set.
std::string line_of(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::vector<fs::path> sorted_entries(const fs::path& directory) {
    std::vector<fs::path> paths;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, none))
        paths.push_back(entry.path());
    // By number, not by letter: mlx5_2 comes before mlx5_10.
    std::sort(paths.begin(), paths.end(), [](const fs::path& one, const fs::path& other) {
        const std::string a = one.filename(), b = other.filename();
        return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
    });
    return paths;
}

std::vector<Gid> read_gids(const fs::path& port) {
    std::vector<Gid> gids;
    for (const fs::path& entry : sorted_entries(port / "gids")) {
        Gid gid{std::stoi(entry.filename()), {}, line_of(port / "gid_attrs/types" / entry.filename())};
        const bool understood = inet_pton(AF_INET6, line_of(entry).c_str(), gid.octets.data()) == 1;
        if (understood && gid.octets != std::array<std::uint8_t, 16>{}) gids.push_back(gid);
    }
    return gids;
}

std::string names_of(const std::vector<RdmaPort>& ports) {
    std::string names;
    for (const RdmaPort& port : ports)
        names += (names.empty() ? "" : ", ") + port.name() + " (" + port.state + ")";
    return names.empty() ? "it has no RDMA ports" : "it has " + names;
}

std::string listed(const RdmaPort& port) {
    std::string list;
    for (const Gid& gid : port.gids)
        list += (list.empty() ? "" : ", ") + std::to_string(gid.index) + " " + gid.text() + " (" +
                gid.type + ")";
    return list.empty() ? "it has none" : "it has " + list;
}

}  // namespace

std::string Gid::text() const {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, octets.data(), text, sizeof text);
    return text;
}

bool Gid::is_of_ipv4() const noexcept {
    return std::all_of(octets.begin(), octets.begin() + 10, [](auto octet) { return octet == 0; }) &&
           octets[10] == 0xff && octets[11] == 0xff;
}

std::vector<RdmaPort> read_rdma_ports(const std::string& directory) {
    std::vector<RdmaPort> ports;
    for (const fs::path& device : sorted_entries(directory)) {
        const bool iwarp = line_of(device / "node_type").find("RNIC") != std::string::npos;
        for (const fs::path& port : sorted_entries(device / "ports"))
            ports.push_back({device.filename(), std::stoi(port.filename()), line_of(port / "state"),
                             line_of(port / "link_layer"), iwarp, read_gids(port)});
    }
    return ports;
}

RdmaPort choose_port(const std::vector<RdmaPort>& ports, const std::vector<std::string>& wanted) {
    const auto first = [&](auto&& suits) { return std::find_if(ports.begin(), ports.end(), suits); };
    auto found = wanted.empty() ? first([](const RdmaPort& port) { return port.is_active(); }) : ports.end();
    std::string names;
    for (const std::string& name : wanted) {
        names += (names.empty() ? "" : " or ") + name;
        if (found == ports.end()) found = first([&](const RdmaPort& port) { return port.name() == name; });
    }
    if (found == ports.end())
        throw RdmaError("this node has no RDMA port " + (names.empty() ? "that is active" : names) +
                        ": " + names_of(ports));
    if (!found->is_active())
        throw RdmaError("the RDMA port " + found->name() + " is not active: " + found->state);
    if (found->iwarp)
        throw RdmaError(found->name() + " is of iWARP, whose connections need the RDMA connection"
                        " manager: the engine does without; measure it with MPI");
    return *found;
}

Gid choose_gid(const RdmaPort& port, std::optional<int> index, const std::string& subnet) {
    const auto first = [&](auto&& suits) {
        return std::find_if(port.gids.begin(), port.gids.end(), suits);
    };
    const auto ipv4 = [](const Gid& gid) { return gid.type == "RoCE v2" && gid.is_of_ipv4(); };
    auto found = port.gids.end();
    if (index) {
        found = first([&](const Gid& gid) { return gid.index == *index; });
        if (found == port.gids.end())
            throw RdmaError("the port " + port.name() + " has no GID of index " +
                            std::to_string(*index) + ": " + listed(port));
        return *found;
    }
    if (port.link_layer == "Ethernet") {
        if (!subnet.empty())
            found = first([&, meant = Subnet::of_option("--gid-subnet", subnet)](const Gid& gid) {
                return ipv4(gid) && meant.contains(gid.octets.data() + 12, 4);
            });
        if (found == port.gids.end()) found = first(ipv4);
        if (found == port.gids.end()) found = first([](const Gid& gid) { return gid.type == "RoCE v2"; });
    }
    if (found == port.gids.end()) found = port.gids.begin();
    if (found == port.gids.end()) throw RdmaError("the port " + port.name() + " has no GID");
    return *found;
}

}  // namespace fabricgauge

#include "fabricgauge/libraries.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("libraries are told from all else that is mapped", [] {
        const std::string maps =
            "55d0-55d1 r-xp 00000000 08:01 1 /usr/bin/engine\n"
            "7f00-7f01 r-xp 00000000 08:01 2 /usr/lib/libmpi.so.12.3\n"
            "7f01-7f02 rw-p 00001000 08:01 2 /usr/lib/libmpi.so.12.3\n"
            "7f02-7f03 r-xp 00000000 08:01 3 /opt/a b/libfabric.so\n"
            "7f03-7f04 r-xp 00000000 08:01 4 /usr/share/some.source\n"
            "7f04-7f05 rw-s 00000000 00:05 5 /dev/shm/segment\n"
            "7ffe-7fff rw-p 00000000 00:00 0 [stack]\n";
        const std::vector<std::string> found = libraries_in(maps);
        check::expect_equal(found.size(), std::size_t{2});
        check::expect_equal(found.front(), "/opt/a b/libfabric.so");
        check::expect_equal(found.back(), "/usr/lib/libmpi.so.12.3");
        check::expect(libraries_in("").empty());
    });
    check::test("this process has some", [] { check::expect(!loaded_libraries().empty()); });
    return check::outcome();
}

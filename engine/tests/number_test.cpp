#include "fabricgauge/number.hpp"

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("whole numbers are read whole or not at all", [] {
        check::expect_equal(whole_number("-12").value_or(0), -12);
        for (const char* text : {"", "1x", "1.0", " 1", "99999999999999999999"})
            check::expect(!whole_number(text));
    });
    check::test("real numbers are finite and decimal", [] {
        check::expect_near(real_number("1e-2").value_or(0), 0.01, 0.0);
        for (const char* text : {"", "inf", "nan", "0x10", " 1", "1s", "1e999"})
            check::expect(!real_number(text));
    });
    return check::outcome();
}

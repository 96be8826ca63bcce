#include "fabricgauge/json.hpp"

#include <limits>
#include <stdexcept>

#include "check.hpp"

using namespace fabricgauge;

int main() {
    check::test("commas stand between values and nowhere else", [] {
        JsonWriter json;
        json.begin_object().member("a", 1).key("b").begin_array().value(2).begin_array().end_array();
        json.end_array().key("c").null().member("d", true).end_object();
        check::expect_equal(json.text(), R"({"a":1,"b":[2,[]],"c":null,"d":true})");
    });
    check::test("quotes, backslashes and control characters are escaped", [] {
        JsonWriter json;
        json.value(std::string("a\"b\\c\n\x01\x7f") + '\0');
        check::expect_equal(json.text(), "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\\u0000\"");
    });
    check::test("UTF-8 passes and what is not UTF-8 is replaced", [] {
        JsonWriter json;
        json.begin_array().value("µ€😀").value("\xff").value("\xc3").value("\xed\xa0\x80").end_array();
        check::expect_equal(json.text(),
                            "[\"µ€😀\",\"\\ufffd\",\"\\ufffd\",\"\\ufffd\\ufffd\\ufffd\"]");
    });
    check::test("numbers keep twelve digits", [] {
        JsonWriter json;
        json.begin_array().value(1.23456789012e-6).value(0.0).value(std::int64_t{1} << 62).end_array();
        check::expect_equal(json.text(), "[1.23456789012e-06,0,4611686018427387904]");
    });
    check::test("a number that is not finite is refused", [] {
        JsonWriter json;
        check::expect_error<std::invalid_argument>(
            [&] { json.value(std::numeric_limits<double>::infinity()); }, "finite");
    });
    return check::outcome();
}

#include "sandbox/filter/address.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using berth::filter::Address;
using berth::filter::Range;

TEST_CASE("an address has one spelling")
{
    for (const std::string text : {"127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "0x7f000001",
                                   "1.2.3.4.5", "1.2.3", "1.2.3.256", "1.2.3.4 ", " 1.2.3.4", "",
                                   "fe80::1%lo", "[::1]", "::1::", "1.2.3.4/8", "example.com"}) {
        CAPTURE(text);
        CHECK_FALSE(Address::parse(text));
    }
    CHECK_FALSE(Address::parse(std::string("1.2.3.4\0.evil", 13)));
    CHECK(Address::parse("2001:DB8:0::1")->to_text() == "2001:db8::1");
}

TEST_CASE("what an address is")
{
    // {address, what it is; empty: ordinary, whether filter.private may open it}
    struct Row {
        std::string address;
        std::string what;
        bool opens = false;
    };

    const std::vector<Row> rows{
        {"93.184.216.34", ""},
        {"2606:2800:220:1::1", ""},
        {"9.255.255.255", ""},
        {"11.0.0.0", ""},
        {"172.15.255.255", ""},
        {"172.32.0.0", ""},
        {"100.63.255.255", ""},
        {"100.128.0.0", ""},
        {"128.0.0.1", ""},
        {"169.253.255.255", ""},
        {"223.255.255.255", ""},
        {"127.0.0.1", "loopback", true},
        {"127.255.255.254", "loopback", true},
        {"::1", "loopback", true},
        {"10.0.0.1", "private", true},
        {"172.16.0.1", "private", true},
        {"172.31.255.255", "private", true},
        {"192.168.1.1", "private", true},
        {"100.64.0.1", "provider", true},
        {"fc00::1", "private", true},
        {"fdff::1", "private", true},
        {"0.0.0.0", "no address"},
        {"0.1.2.3", "no address"},
        {"::", "no address"},
        {"255.255.255.255", "no address"},
        {"240.0.0.1", "no address"},
        {"169.254.169.254", "link-local"},
        {"169.254.170.2", "link-local"},
        {"fe80::1", "link-local"},
        {"100.100.100.200", "metadata"},
        {"168.63.129.16", "metadata"},
        {"fd00:ec2::254", "metadata"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.250", "multicast"},
        {"ff02::1", "multicast"},
        {"::ffff:169.254.169.254", "IPv4 in IPv6"},
        {"::ffff:93.184.216.34", "IPv4 in IPv6"},
        {"::ffff:0:127.0.0.1", "IPv4 in IPv6"},
        {"::127.0.0.1", "IPv4 in IPv6"},
        {"64:ff9b::7f00:1", "NAT64"},
        {"64:ff9b:1::7f00:1", "NAT64"},
        {"2002:7f00:1::", "6to4"},
        {"2001:0:4136:e378::1", "Teredo"},
        {"2001:db8::1", "documentation"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.address);
        const auto place = special_place(Address::parse(row.address).value());
        REQUIRE(place.has_value() == !row.what.empty());
        if (place) {
            CHECK(place->name.find(row.what) != std::string_view::npos);
            CHECK(place->opens == row.opens);
        }
    }
}

TEST_CASE("what is in a range")
{
    // {range, what is in it, what is not}
    const std::vector<std::vector<std::string>> rows{
        {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
        {"192.168.6.0/23", "192.168.7.255", "192.168.8.0"},
        {"192.168.6.1", "192.168.6.1", "192.168.6.2"},
        {"192.168.6.1/32", "192.168.6.1", "192.168.6.0"},
        {"0.0.0.0/0", "255.1.2.3", "::1"},
        {"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::"},
        {"::/0", "fe80::1", "127.0.0.1"},
    };
    for (const auto& row : rows) {
        CAPTURE(row[0]);
        const auto range = Range::parse(row[0]).value();
        CHECK(range.contains(Address::parse(row[1]).value()));
        CHECK_FALSE(range.contains(Address::parse(row[2]).value()));
    }
    for (const std::string text : {"10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "/8", "a/8",
                                   "10.0.0.0/8/8", "10.0.0.0/0x8"}) {
        CAPTURE(text);
        CHECK_FALSE(Range::parse(text));
    }
}

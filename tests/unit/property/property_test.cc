#include "libdataset/property/property.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

std::string error_of(std::string_view name, std::string_view value,
                     PropertyTarget target = PropertyTarget::filesystem,
                     SetOccasion occasion = SetOccasion::set) {
  const auto checked = check_setting(name, value, target, occasion);
  return checked ? "" : checked.error().text();
}

TEST(NiceNumber, FollowsTheExamplesOfTheFormatPage) {
  EXPECT_EQ(nice_number(1536), "1.50K");
  EXPECT_EQ(nice_number(10239), "10.0K");
  EXPECT_EQ(nice_number(1126), "1.10K");
  EXPECT_EQ(nice_number(102400), "100K");
  EXPECT_EQ(nice_number(102500), "100K");
  EXPECT_EQ(nice_number(141733920768), "132G");
  EXPECT_EQ(nice_number(7377697627000), "6.71T");
  EXPECT_EQ(nice_number(1048575), "1024K");
  EXPECT_EQ(nice_number(1023), "1023");
  EXPECT_EQ(nice_number(0), "0");
  EXPECT_EQ(nice_number(UINT64_MAX), "16.0E");
  EXPECT_EQ(nice_bytes(1023), "1023B");
  EXPECT_EQ(nice_bytes(1024), "1K");
}

TEST(ParseSize, TakesFractionsAndUnitsInAnyCase) {
  const auto size = [](std::string_view text) { return parse_size(text).value_or(7); };
  EXPECT_EQ(size("0"), 0u);
  EXPECT_EQ(size("1.5G"), 1610612736u);
  EXPECT_EQ(size(".5G"), 536870912u);
  EXPECT_EQ(size("1.23456G"), 1325598706u);
  EXPECT_EQ(size("64m"), 67108864u);
  EXPECT_EQ(size("64MB"), 67108864u);
  EXPECT_EQ(size("64MiB"), 67108864u);
  EXPECT_EQ(size("512B"), 512u);
  EXPECT_EQ(size("8E"), std::uint64_t{8} << 60);
}

TEST(ParseSize, RefusesWithTheWordsOfTheReference) {
  const auto refusal = [](std::string_view text) { return parse_size(text).error().text(); };
  EXPECT_EQ(refusal(""), "bad numeric value ''");
  EXPECT_EQ(refusal("-1"), "bad numeric value '-1'");
  EXPECT_EQ(refusal("x"), "bad numeric value 'x'");
  EXPECT_EQ(refusal("1e6"), "invalid numeric suffix 'e6'");
  EXPECT_EQ(refusal("0x4000000"), "invalid numeric suffix 'x4000000'");
  EXPECT_EQ(refusal("1 G"), "invalid numeric suffix ' G'");
  EXPECT_EQ(refusal("1Gx"), "invalid numeric suffix 'Gx'");
  EXPECT_EQ(refusal("10Q"), "invalid numeric suffix 'Q'");
  EXPECT_EQ(refusal("20E"), "numeric value is too large");
  EXPECT_EQ(refusal("99999999999999999999"), "numeric value is too large");
  EXPECT_EQ(refusal("1Z"), "numeric value is too large");
}

TEST(PropertyTable, IsFoundByNameAndShortName) {
  ASSERT_NE(find_property("compress"), nullptr);
  EXPECT_EQ(find_property("compress")->id, Property::compression);
  EXPECT_EQ(find_property("avail")->id, Property::available);
  EXPECT_EQ(find_property("COMPRESSION"), nullptr);
  EXPECT_EQ(find_property("jailed"), nullptr);
  EXPECT_STREQ(property_info(Property::defer_destroy).column, "DEFER_DESTROY");
  EXPECT_TRUE(is_user_property("com.example:x"));
}

TEST(CheckSetting, RefusesWithTheWordsOfTheReference) {
  EXPECT_EQ(error_of("bogus", "1"), "invalid property 'bogus'");
  EXPECT_EQ(error_of("", "x"), "invalid property ''");
  EXPECT_EQ(error_of("used", "1"), "'used' is readonly");
  EXPECT_EQ(error_of("casesensitivity", "mixed"), "'casesensitivity' is readonly");
  EXPECT_EQ(error_of("atime", "yes"), "'atime' must be one of 'on | off'");
  EXPECT_EQ(error_of("snapdir", "x"), "'snapdir' must be one of 'disabled | hidden | visible'");
  EXPECT_EQ(error_of("recordsize", "32M"), "'recordsize' must be power of 2 from 512B to 16M");
  EXPECT_EQ(error_of("recordsize", "none"), "'recordsize' must be power of 2 from 512B to 16M");
  EXPECT_EQ(error_of("quota", "0"), "use 'none' to disable quota/refquota");
  EXPECT_EQ(error_of("quota", "auto"), "use 'none' to disable quota/refquota");
  EXPECT_EQ(error_of("refreservation", "auto"), "'refreservation=auto' only allowed on volumes");
  EXPECT_EQ(error_of("mountpoint", "rel"), "'mountpoint' must be an absolute path, 'none', or 'legacy'");
  EXPECT_EQ(error_of("volsize", "8M"), "'volsize' does not apply to datasets of this type");
  EXPECT_EQ(error_of("quota", "5M", PropertyTarget::volume),
            "'quota' does not apply to datasets of this type");
  EXPECT_EQ(error_of("compression", "on", PropertyTarget::snapshot),
            "this property can not be modified for snapshots");
  EXPECT_EQ(error_of("special_small_blocks", "3M"),
            "invalid 'special_small_blocks=3145728' property: must be zero or a power of 2 from 512B to 16M");
  EXPECT_EQ(error_of("com.example:long", std::string(8192, 'a')), "property value too long");
  EXPECT_EQ(error_of("Com.Example:x", "1"), "invalid property 'Com.Example:x'");
  EXPECT_EQ(error_of("keylocation", "prompt"), "keylocation must be 'none' for unencrypted datasets");
  const std::string long_name = "org.example:" + std::string(260, 'a');
  EXPECT_EQ(error_of(long_name, "x"), "property name '" + long_name + "' is too long");
}

TEST(CheckSetting, AcceptsLegalValues) {
  EXPECT_EQ(error_of("compression", "zstd-fast-1000"), "");
  EXPECT_EQ(error_of("acltype", "posixacl"), "");
  EXPECT_EQ(error_of("com.example:empty", ""), "");
  EXPECT_EQ(error_of(":x", "1"), "");
  EXPECT_EQ(error_of("refreservation", "auto", PropertyTarget::volume), "");
  EXPECT_EQ(error_of("casesensitivity", "sensitive", PropertyTarget::filesystem, SetOccasion::create), "");
}

// A stored value that nothing obeys would mislead.
TEST(CheckSetting, RefusesWhatTarnDoesNotActOn) {
  EXPECT_NE(error_of("sync", "always"), "");
  EXPECT_EQ(error_of("sync", "standard"), "");
  EXPECT_NE(error_of("dedup", "on"), "");
  EXPECT_EQ(error_of("primarycache", "all"), "");
  EXPECT_NE(error_of("casesensitivity", "mixed", PropertyTarget::filesystem, SetOccasion::create), "");
}

PropertyValue native(Property id, std::uint64_t number) {
  const PropertyInfo& info = property_info(id);
  return {.name = info.name, .type = info.type, .number = number};
}

TEST(PrintValue, ShowsHumanAndParsableForms) {
  EXPECT_EQ(print_value(native(Property::used, 0), false), "0B");
  EXPECT_EQ(print_value(native(Property::used, 239616), false), "234K");
  EXPECT_EQ(print_value(native(Property::used, 239616), true), "239616");
  EXPECT_EQ(print_value(native(Property::written, 0), false), "0");
  EXPECT_EQ(print_value(native(Property::quota, 0), false), "none");
  EXPECT_EQ(print_value(native(Property::quota, 0), true), "0");
  EXPECT_EQ(print_value(native(Property::compressratio, 153), false), "1.53x");
  EXPECT_EQ(print_value(native(Property::compressratio, 100), true), "1.00");
  EXPECT_EQ(print_value(native(Property::compression, 16 + 128 * 123), false), "zstd-fast-1000");
  EXPECT_EQ(print_value(native(Property::compression, 10), false), "gzip");
  EXPECT_EQ(print_value(native(Property::xattr, 2), false), "on");
  EXPECT_EQ(print_value(native(Property::guid, 6550184515447659428u), false), "6550184515447659428");
  EXPECT_EQ(print_value(native(Property::filesystem_limit, UINT64_MAX), false), "none");
  EXPECT_EQ(print_value(native(Property::recordsize, 131072), false), "128K");
  PropertyValue absent = native(Property::origin, 0);
  absent.absent = true;
  EXPECT_EQ(print_value(absent, true), "-");
}

TEST(PrintValue, WritesDatesInTheTimeZoneOfTheProcess) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(print_value(native(Property::creation, 1796085478), false), "Tue Dec  1  0:37 2026");
  EXPECT_EQ(print_value(native(Property::snapshots_changed, 1796085497), false), "Tue Dec  1  0:38:17 2026");
  EXPECT_EQ(print_value(native(Property::creation, 1796085478), true), "1796085478");
}

}  // namespace
}  // namespace tarn

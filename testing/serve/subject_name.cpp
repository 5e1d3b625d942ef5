#include "subject_name.hpp"

#include <openssl/asn1.h>
#include <openssl/objects.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace colock::testing {

namespace {

// The types that have a word; all others are numbers.
constexpr std::array words{std::pair{NID_commonName, "CN"},
                           std::pair{NID_countryName, "C"},
                           std::pair{NID_localityName, "L"},
                           std::pair{NID_stateOrProvinceName, "ST"},
                           std::pair{NID_organizationName, "O"},
                           std::pair{NID_organizationalUnitName, "OU"},
                           std::pair{NID_streetAddress, "STREET"},
                           std::pair{NID_domainComponent, "DC"},
                           std::pair{NID_userId, "UID"}};

constexpr int texts = B_ASN1_PRINTABLESTRING | B_ASN1_UTF8STRING | B_ASN1_T61STRING |
                      B_ASN1_IA5STRING | B_ASN1_GENERALSTRING | B_ASN1_BMPSTRING |
                      B_ASN1_UNIVERSALSTRING;

std::string number_of(const ASN1_OBJECT* type)
{
    std::array<char, 128> text{};
    OBJ_obj2txt(text.data(), static_cast<int>(text.size()), type, 1);
    return text.data();
}

// The bytes of a value, with its tag and length.
std::string hex(const ASN1_STRING* value)
{
    ASN1_TYPE whole{};
    whole.type = ASN1_STRING_type(value);
    whole.value.asn1_string = const_cast<ASN1_STRING*>(value);
    unsigned char* bytes = nullptr;
    const int size = i2d_ASN1_TYPE(&whole, &bytes);
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text{"#"};
    for (int i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    OPENSSL_free(bytes);
    return text;
}

bool is_blank(char c)
{
    return c == ' ' || c == '\r';
}

std::string escaped(std::string_view value)
{
    static constexpr std::string_view special = ",=+<>#;\"\\";
    std::string text;
    for (const char c : value) {
        if (c == '\0') {
            text += "\\00";
            continue;
        }
        if (special.find(c) != special.npos) {
            text += '\\';
        }
        text += c;
    }
    // Blanks at either end.
    const auto lead = std::ranges::find_if_not(text, is_blank) - text.begin();
    const auto trail = std::find_if_not(text.rbegin(), text.rend(), is_blank) - text.rbegin();
    std::string whole;
    for (std::ptrdiff_t i = 0; i != std::ssize(text); ++i) {
        if (i < lead || i >= std::ssize(text) - trail) {
            whole += '\\';
        }
        whole += text[static_cast<std::size_t>(i)];
    }
    return whole;
}

std::string text_of(const ASN1_STRING* value)
{
    unsigned char* bytes = nullptr;
    const int size = ASN1_STRING_to_UTF8(&bytes, value);
    std::string text;
    if (size > 0) {
        text.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    OPENSSL_free(bytes);
    return text;
}

std::string text_of(const X509_NAME_ENTRY* entry)
{
    const auto* const type = X509_NAME_ENTRY_get_object(entry);
    const auto* const value = X509_NAME_ENTRY_get_data(entry);
    const auto word =
        std::ranges::find(words, OBJ_obj2nid(type), [](const auto& w) { return w.first; });
    const bool is_text = (ASN1_tag2bit(ASN1_STRING_type(value)) & texts) != 0;
    if (word == words.end()) {
        return number_of(type) + '=' + hex(value);
    }
    return std::string{word->second} + '=' + (is_text ? escaped(text_of(value)) : hex(value));
}

} // namespace

std::string name_of(const X509_NAME* name)
{
    // The last one first, but those of one set as they stand.
    std::string text;
    std::string set;
    const int count = X509_NAME_entry_count(name);
    for (int i = 0; i < count; ++i) {
        const auto* const entry = X509_NAME_get_entry(name, i);
        const bool goes_on =
            i + 1 < count &&
            X509_NAME_ENTRY_set(X509_NAME_get_entry(name, i + 1)) == X509_NAME_ENTRY_set(entry);
        set += text_of(entry);
        if (goes_on) {
            set += '+';
        } else {
            text = std::exchange(set, {}) + (text.empty() ? "" : "," + text);
        }
    }
    return text;
}

} // namespace colock::testing

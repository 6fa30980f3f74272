#!/bin/sh
# Copies the licences of linked code into a folder, from where they are installed on this machine.
#
#     sh licences.sh FOLDER LIBRARY...
#
# A static library from a release's third_party, libNAME.a, has its licence in libNAME.LICENSE next to it.
#
# Prints for each static library "LIBRARY PACKAGE COUNT": the library's package, or - if no package manager of this
# machine knows the library, and the number of files now in FOLDER/PACKAGE. Supports dpkg, rpm, pacman and apk. Texts to
# which Debian's copyright files only refer are copied to FOLDER/common-licenses.
set -u
into=$1
shift
mkdir -p "$into" || exit 4

has() {
    command -v "$1" >/dev/null 2>&1
}

# Prints the package that owns a file, by the first package manager that knows the file.
find_package() {
    if [ -f "${1%.a}.LICENSE" ]; then
        basename "$1" .a | sed 's/^lib//'
        return
    fi
    {
        ! has dpkg-query || dpkg-query -S "$1" | sed -n 's/^\([^:, ]*\)[:,].*/\1/p'
        ! has rpm || rpm -qf --qf '%{NAME}\n' "$1" | grep -v ' '
        ! has pacman || pacman -Qqo "$1"
        ! has apk || apk info -q --who-owns "$1"
    } 2>/dev/null | head -n 1
}

# Prints the paths of a package's licences, one per line. With rpm, another package that was built from the same source
# may have the licences of all of these packages.
list_licences() {
    for place in "/usr/share/doc/$1/copyright" "/usr/share/licenses/$1"/*; do
        [ ! -f "$place" ] || echo "$place"
    done
    has rpm && source=$(rpm -q --qf '%{SOURCERPM}\n' "$1" 2>/dev/null) || return 0
    rpm -qa --qf '%{SOURCERPM} %{NAME}\n' | while read -r from name; do
        [ "$from" != "$source" ] || rpm -q --licensefiles "$name"
    done | sort -u
}

for archive in "$@"; do
    real=$(readlink -f "$archive") || real=$archive
    package=$(find_package "$real")
    own_licence=${real%.a}.LICENSE
    count=0
    if [ -n "$package" ]; then
        mkdir -p "$into/$package" || exit 4
        { [ -f "$own_licence" ] && echo "$own_licence" || list_licences "$package"; } | while IFS= read -r path; do
            [ ! -f "$path" ] || cp "$path" "$into/$package/" || exit 4
        done || exit 4
        for path in "$into/$package"/*; do
            [ ! -f "$path" ] || count=$((count + 1))
        done
        rmdir "$into/$package" 2>/dev/null
    fi
    echo "$archive ${package:--} $count"
done
sed -n 's|.*/usr/share/common-licenses/\([A-Za-z0-9.-]*[A-Za-z0-9]\).*|\1|p' "$into"/*/copyright 2>/dev/null | sort -u |
    while read -r name; do
        [ ! -f "/usr/share/common-licenses/$name" ] || {
            mkdir -p "$into/common-licenses" && cp "/usr/share/common-licenses/$name" "$into/common-licenses/"
        } || exit 4
    done

# Sourced by the scripts that configure a build.

# Configures FOLDER as if it were new: nothing of an earlier configuration stays, and what is built needn't be built again.
# CMake has --fresh for this from 3.24 on.
configure_anew() {  # FOLDER ARGUMENT...
    local folder=${1:?}
    shift
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
    cmake -B "$folder" "$@"
}

# cmake -DPTX=FILE -DTO=FILE.c -P embed.cmake: makes a C file with the text as the array sp_heap_image.
file(READ "${PTX}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}") # a line for each line of the text
file(WRITE "${TO}" "#include \"devheap/image.h\"\n\nconst char sp_heap_image[] = {\n${bytes}0};\n")
